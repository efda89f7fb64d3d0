package e2e_test

import (
	"context"
	"testing"
	"time"
)

// patience is how long a test waits for what should come soon.
const patience = 3 * time.Minute

// eventually looks again and again until there is no error. What it waits for
// happens in other processes, which have no channel to signal on.
func eventually(t *testing.T, what string, look func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	var why error
	for {
		err := look(ctx)
		if err == nil {
			return
		}
		if ctx.Err() == nil || why == nil { // else it is only that time is up
			why = err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, why)
		}
	}
}
