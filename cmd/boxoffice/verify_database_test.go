package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"boxoffice/internal/database"
)

// What is wrong in the databases of running services, in theirs and not in a
// stage's, is found.
func TestVerifyFindsWhatIsWrongInTheDatabases(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	up := start(t, anyPorts("LAB=on", "BANK_DELAY=1ms", "LOG_LEVEL=warn", "SAGA_DEADLINE=1h"), "up", "--data", data)
	services := []string{"--url=" + up.url("booking"), "--seats-url=" + up.url("seats"), "--payments-url=" + up.url("payments")}
	if code, stdout, stderr := boxoffice(t, nil, "demo", services[0]); code != 0 {
		t.Fatalf("demo: exit %d\n%s%s", code, stdout, stderr)
	}

	const (
		confirmed = "(SELECT id FROM bookings WHERE status = 'Confirmed' ORDER BY id LIMIT 1)"
		rejected  = "(SELECT id FROM bookings WHERE status = 'Rejected')"
		cancelled = "(SELECT id FROM bookings WHERE status = 'Cancelled')"
	)
	databases := map[string]*database.DB{}
	for _, service := range []string{"booking", "seats", "payments"} {
		db, err := database.Open("sqlite:" + filepath.Join(data, service+".db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() }) // only read from now on
		databases[service] = db
	}
	id := func(query string) (id string) {
		if err := databases["booking"].QueryRowContext(t.Context(), "SELECT CAST(id AS TEXT) FROM bookings WHERE id = "+query).Scan(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	c, r, x := id(confirmed), id(rejected), id(cancelled)
	const nobody = "01990000-0000-7000-8000-000000000001"

	for _, test := range []struct {
		name, service, plant, heal string
		invariant                  int
		says                       string
	}{
		{
			"a lost booking", "booking", "UPDATE bookings SET id = '" + nobody + "' WHERE id = '" + r + "'",
			"UPDATE bookings SET id = '" + r + "' WHERE id = '" + nobody + "'", 1, r + " .* has a reservation of seat 5, but no booking",
		},
		{
			"not released", "booking", "UPDATE bookings SET seat_released = false WHERE id = '" + x + "'",
			"UPDATE bookings SET seat_released = true WHERE id = '" + x + "'", 1, x + " .* is not finished: Cancelled",
		},
		{
			"without its seat", "seats", "UPDATE reservations SET status = 'released' WHERE booking_id = '" + c + "'",
			"UPDATE reservations SET status = 'reserved' WHERE booking_id = '" + c + "'", 2, c + " .* does not hold seat 5",
		},
		{
			"a Rejected holds", "seats", "UPDATE reservations SET status = 'reserved', seat = 9 WHERE booking_id = '" + r + "'",
			"UPDATE reservations SET status = 'rejected', seat = 5 WHERE booking_id = '" + r + "'", 2, r + " .* holds seat 9, but is Rejected",
		},
		{
			"a Cancelled holds", "seats", "UPDATE reservations SET status = 'reserved', seat = 9 WHERE booking_id = '" + x + "'",
			"UPDATE reservations SET status = 'released', seat = 7 WHERE booking_id = '" + x + "'", 4, x + " .* is Cancelled, but holds seat 9",
		},
		{
			"not paid", "payments", "UPDATE payments SET booking_id = '" + nobody + "' WHERE booking_id = '" + c + "'",
			"UPDATE payments SET booking_id = '" + c + "' WHERE booking_id = '" + nobody + "'", 3, c + " .* with 0 payments",
		},
		{
			"another amount", "payments", "UPDATE payments SET amount = amount + 1 WHERE booking_id = '" + c + "'",
			"UPDATE payments SET amount = amount - 1 WHERE booking_id = '" + c + "'", 3, c + " .* was paid",
		},
		{
			"charged too much", "payments", "UPDATE bank_ledger SET amount = amount + 1 WHERE booking_id = '" + c + "'",
			"UPDATE bank_ledger SET amount = amount - 1 WHERE booking_id = '" + c + "'", 3, c + " .* was charged",
		},
		{
			"not charged", "payments", "UPDATE bank_ledger SET verdict = 'declined' WHERE booking_id = '" + c + "'",
			"UPDATE bank_ledger SET verdict = 'charged' WHERE booking_id = '" + c + "'", 3, c + " .* was charged 0 times",
		},
		{
			"a Cancelled charged", "payments", "UPDATE bank_ledger SET verdict = 'charged' WHERE booking_id = '" + x + "'",
			"UPDATE bank_ledger SET verdict = 'declined' WHERE booking_id = '" + x + "'", 3, x + " .* is Cancelled, but was charged once",
		},
		{
			"a Cancelled paid", "payments", "UPDATE payments SET status = 'succeeded' WHERE booking_id = '" + x + "'",
			"UPDATE payments SET status = 'failed' WHERE booking_id = '" + x + "'", 3, x + " .* is Cancelled, but its payment succeeded",
		},
		{
			"a charge without a payment", "payments", "INSERT INTO bank_ledger VALUES ('" + r + "', 500, 'charged', 1)",
			"DELETE FROM bank_ledger WHERE booking_id = '" + r + "'", 3, r + " .* is Rejected, but was charged once",
		},
		{
			"a charge without a booking", "payments", "INSERT INTO bank_ledger VALUES ('" + nobody + "', 500, 'charged', 1)",
			"DELETE FROM bank_ledger WHERE booking_id = '" + nobody + "'", 3, nobody + " .* was charged 5, but does not exist",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			change := func(statement string) {
				result, err := databases[test.service].ExecContext(t.Context(), statement)
				if err != nil {
					t.Fatal(err)
				}
				if n, err := result.RowsAffected(); n != 1 || err != nil {
					t.Fatalf("%s changes %d rows, %v", statement, n, err)
				}
			}
			change(test.plant)
			code, stdout, stderr := boxoffice(t, nil, append([]string{"verify", "--timeout=1ms"}, services...)...)
			change(test.heal)
			line := regexp.MustCompile(`(?m)^` + strconv.Itoa(test.invariant) + `  .* \d violations?\n(     booking .*\n)*     booking ` + test.says)
			if code != exitFailed || !line.MatchString(stdout) {
				t.Errorf("exit %d, want %s in\n%s%s", code, line, stdout, stderr)
			}
		})
	}
	if code, stdout, stderr := boxoffice(t, nil, append([]string{"verify"}, services...)...); code != 0 {
		t.Errorf("in the end: exit %d\n%s%s", code, stdout, stderr)
	}
}
