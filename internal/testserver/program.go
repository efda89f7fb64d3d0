package testserver

import (
	"os/exec"
	"testing"
)

// FreePort is a free loopback port for a program that a test runs. No outgoing
// connection takes it, so that the program can be started again on it.
func FreePort(tb testing.TB) int {
	tb.Helper()
	port, err := freePort(tb.Context())
	check(tb, err)
	return port
}

// Guard ends the programs of a test with the test, and when this process dies,
// however it dies.
type Guard struct{ guard *guard }

// NewGuard makes the Guard of a test.
func NewGuard(tb testing.TB) *Guard {
	tb.Helper()
	g, err := newGuard(tb.Context(), "true") // there is nothing to clean up
	check(tb, err)
	tb.Cleanup(func() { check(tb, g.close()) })
	return &Guard{g}
}

// Adopt is called before cmd is started, Forget after it has ended.
func (g *Guard) Adopt(cmd *exec.Cmd) error { return g.guard.adopt(cmd) }

// Forget is called after an adopted program has ended: its id may soon be another's.
func (g *Guard) Forget(pid int) { g.guard.forget(pid) }
