package retry_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/retry"
)

func TestForever(t *testing.T) {
	broken := errors.New("broken")
	log := slog.New(slog.DiscardHandler)

	t.Run("tries for hours, and a log can be read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start, tries := time.Now(), 0
			var written bytes.Buffer
			log := slog.New(slog.NewTextHandler(&written, nil))
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
			if tries < 500 || tries > 10_000 {
				t.Errorf("%d tries in three hours: neither a hot loop nor asleep", tries)
			}
			if lines := strings.Count(written.String(), "\n"); lines < 100 || lines > 182 {
				t.Errorf("%d lines in the log, want one a minute and one in the end", lines)
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
