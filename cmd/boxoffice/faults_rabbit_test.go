package main

import (
	"fmt"
	"strings"
	"testing"

	"boxoffice/internal/testserver"
)

// Bookings that are in flight at payments while others lose its channel
// forty times are not parked, though the broker counts each loss for them.
func TestTheFaultsOfOthersParkNobodyOnRabbitMQ(t *testing.T) {
	t.Parallel()
	rabbit, postgres := testserver.SharedRabbitMQ(t), testserver.SharedPostgres(t)
	s := processes(t, rabbit.VHost(t, "losses"), postgres, "losses")
	url := strings.TrimPrefix(s.flags[0], "--url=")
	for seat := range 5 {
		postFaulty(t, url, fmt.Sprintf(`{"seat":%d,"customer":"olena","amount":450}`, seat+1), "payments.SeatReserved=delay:4s")
	}
	for seat := 6; seat <= 9; seat++ {
		code, stdout, stderr := boxoffice(t, nil, "book", fmt.Sprintf("--seat=%d", seat), "--customer=petro", "--amount=450",
			"--fault=payments.SeatReserved=drop*10", s.flags[0])
		if code != 0 || !strings.Contains(stdout, "Confirmed") {
			t.Errorf("exit %d\n%s%s", code, stdout, stderr)
		}
	}
	if code, stdout, stderr := boxoffice(t, []string{"BROKER_URL=" + s.broker}, append([]string{"verify", "--management-url=" + rabbit.ManagementURL}, s.flags...)...); code != 0 {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	s.nothingParked(t)
}
