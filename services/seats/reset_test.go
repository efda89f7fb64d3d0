package seats

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/participant"
	"boxoffice/internal/participant/participanttest"
	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/tickets"
)

// What is held while the store is down is not forgotten.
func TestResetRefusesWhileEventsAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := inproc.New(inproc.Options{})
		conn, others := server.Connect("seats"), server.Connect("others")
		deps, _ := participanttest.Deps(t, tickets.Seats, "sqlite:"+t.TempDir()+"/seats.db", conn)
		r := replica{Service: New(Config{
			Settings: participant.Settings{
				Lab: true, AllowedHosts: []string{"example.com"}, // httptest's
				Topology: messaging.TopologyDeclare, RetryDelays: []time.Duration{time.Second},
			},
			Total: total,
		}, deps)}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		rename := func(from, to string) {
			t.Helper()
			if _, err := deps.DB.ExecContext(ctx, `ALTER TABLE `+from+` RENAME TO `+to); err != nil {
				t.Fatal(err)
			}
		}
		rename("reservations", "gone")
		id := newID()
		if err := participanttest.Anybody(t, others).Publish(ctx, created(id, 5)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if w := r.reset(t); w.Code != http.StatusConflict {
			t.Errorf("while an event is held: %d %s", w.Code, w.Body)
		}
		if w := r.post(t, "/lab/reset?check=true"); w.Code != http.StatusConflict {
			t.Errorf("whether it would: %d %s", w.Code, w.Body)
		}
		rename("gone", "reservations")
		time.Sleep(10 * time.Second) // longer than between two tries
		r.expectGet(t, "/seats", `{"total":10,"free":9,"held":[{"seat":5,"bookingId":"`+id.String()+`"}]}`)
		if w := r.reset(t); w.Code != http.StatusNoContent {
			t.Errorf("when all is quiet: %d %s", w.Code, w.Body)
		}
		r.expectGet(t, "/seats", `{"total":10,"free":10,"held":[]}`)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_, _ = others.Close(context.Background()), conn.Close(context.Background())
	})
}
