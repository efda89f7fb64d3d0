package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"boxoffice/internal/testserver"
)

// The services need no setting for PgBouncer, in either mode.
func TestBehindPgBouncer(t *testing.T) {
	for _, mode := range []string{"session", "transaction"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			postgres := testserver.SharedPostgres(t)
			bouncer := testserver.PgBouncer(t, postgres, mode)
			s := newStackOn(t, func(service string) string { return bouncer.URL(t, postgres.Database(t, "bounced_"+service)) }, quickly...)
			l := startLoad(t, s.client, loadSize, loadMiddle)
			close(l.goOn)
			s.recovered(l.all(t))
		})
	}
}

// All databases are read-only for a while, and all connections are opened anew
// meanwhile. The services say so, and are well by themselves afterwards.
func TestReadOnlyDatabases(t *testing.T) {
	postgres := testserver.SharedPostgres(t)
	var names []string
	s := newStackOn(t, func(service string) string {
		u, err := url.Parse(postgres.Database(t, "readonly_"+service))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(u.Path, "/"))
		return u.String()
	}, quickly...)
	l := startLoad(t, s.client, loadSize, loadMiddle)
	l.wait(t, l.middle)
	for _, name := range names {
		postgres.Exec(t, "", `ALTER DATABASE "`+name+`" SET default_transaction_read_only = on`)
		postgres.Exec(t, "", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '`+name+`'`)
	}
	close(l.goOn)
	l.refused(t)
	services := map[string]string{"booking": s.targets.Booking, "seats": s.targets.Seats, "payments": s.targets.Payments}
	for name, at := range services {
		eventually(t, name+" says that its database is the trouble", func(ctx context.Context) error {
			err := s.get(ctx, at+"/ready", &struct{}{})
			if err == nil || !strings.Contains(err.Error(), fmt.Sprint(http.StatusServiceUnavailable)) {
				return errors.Join(errors.New("it is ready"), err)
			}
			return nil
		})
	}
	for _, name := range names {
		postgres.Exec(t, "", `ALTER DATABASE "`+name+`" RESET default_transaction_read_only`)
	}
	s.ready()
	s.recovered(l.all(t))
}
