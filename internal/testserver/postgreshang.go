package testserver

import (
	"context"
	"sync"
	"testing"
)

// HangCommits makes every commit wait for a standby server that does not exist,
// until release, which the end of the test calls too. Statements that change
// nothing go on working.
func (p *Postgres) HangCommits(tb testing.TB) (release func()) {
	tb.Helper()
	set := func(ctx context.Context, statement string) error {
		if err := p.exec(ctx, statement); err != nil {
			return err
		}
		return p.exec(ctx, "SELECT pg_reload_conf()")
	}
	release = sync.OnceFunc(func() {
		check(tb, set(context.WithoutCancel(tb.Context()), "ALTER SYSTEM RESET synchronous_standby_names"))
	})
	tb.Cleanup(release)
	check(tb, set(tb.Context(), "ALTER SYSTEM SET synchronous_standby_names = 'nobody'"))
	return release
}
