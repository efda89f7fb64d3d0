package retry_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/retry"
)

func TestForever(t *testing.T) {
	broken := errors.New("broken")
	log := slog.New(slog.DiscardHandler)

	t.Run("tries for hours", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start, tries := time.Now(), 0
			err := retry.Forever(t.Context(), log, "work", func(context.Context) error {
				tries++
				if time.Since(start) < 3*time.Hour {
					return broken
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if tries < 500 || tries > 5000 {
				t.Errorf("%d tries in three hours: neither a hot loop nor asleep", tries)
			}
		})
	})
	t.Run("ends with its context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := retry.Forever(ctx, log, "work", func(context.Context) error { return broken })
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		})
	})
	t.Run("ends at a final error", func(t *testing.T) {
		err := retry.Forever(t.Context(), log, "work", func(context.Context) error { return retry.Final(broken) })
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	})
}
