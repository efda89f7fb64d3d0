package database_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"boxoffice/internal/database"
)

// What follows a commit does not give it up for a lost race, and says of
// whatever else is wrong that something may be done. What comes before any
// commit is left to the group, which can split the batch.
func TestInsist(t *testing.T) {
	race, broken := &pgconn.PgError{Code: "40001"}, errors.New("broken")
	for _, test := range []struct {
		committed bool
		errs      []error // of the tries
		tries     int
		want      error
		unknown   bool
	}{
		{false, []error{nil}, 1, nil, false},
		{false, []error{race}, 1, race, false},
		{true, []error{nil}, 1, nil, false},
		{true, []error{race, race, nil}, 3, nil, false},
		{true, []error{race, race, race, race, nil}, 4, race, true},
		{true, []error{race, broken, nil}, 2, broken, true},
	} {
		tries := 0
		err := database.Insist(test.committed, func() error {
			tries++
			return test.errs[tries-1]
		})
		if tries != test.tries || !errors.Is(err, test.want) || test.unknown != (errors.Is(err, test.want) && err != nil && !database.NotCommitted(err)) {
			t.Errorf("%+v: %v after %d tries", test, err, tries)
		}
	}
}
