package messaging

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAttemptOfAnyHeader(t *testing.T) {
	for _, c := range []struct {
		header any
		want   int
	}{
		{nil, 1},
		{int64(3), 3},
		{int32(3), 3},
		{int16(3), 3},
		{uint8(3), 3},
		{"3", 3},
		{int(2), 2},
		{"x", 1},
		{int64(-1), 1},
		{int64(0), 1},
		{int64(1) << 60, 1},
		{3.0, 1},
		{[]any{1}, 1},
		{map[string]any{}, 1},
		{true, 1},
	} {
		if got := (Message{Headers: map[string]any{HeaderAttempt: c.header}}).Attempt(); got != c.want {
			t.Errorf("%T %v is attempt %d, want %d", c.header, c.header, got, c.want)
		}
	}
}

func TestCopyLeavesOutWhatTheBrokerAdded(t *testing.T) {
	in := map[string]any{
		"x-death": []any{map[string]any{"count": int64(1)}}, "x-first-death-queue": "q", "x-last-death-reason": "expired",
		"x-delivery-count": int64(2), "nested": map[string]any{"a": 1}, "traceparent": "00-…", "mine": int32(7), "raw": []byte("x"),
	}
	out := Message{Headers: in}.copyForRepublish().Headers
	for _, gone := range []string{"x-death", "x-first-death-queue", "x-last-death-reason", "x-delivery-count", "nested"} {
		if _, ok := out[gone]; ok {
			t.Errorf("%s was copied", gone)
		}
	}
	if out["traceparent"] != "00-…" || out["mine"] != int32(7) || string(out["raw"].([]byte)) != "x" {
		t.Errorf("a header was lost: %v", out)
	}
	out["new"] = 1
	if _, ok := in["new"]; ok {
		t.Error("the copy shares its headers with the original")
	}
}

// Whatever headers a stranger sends, the copy can be published.
func TestCopyIsBounded(t *testing.T) {
	in := map[string]any{"traceparent": "00-…", strings.Repeat("n", 300): "x", "huge": strings.Repeat("x", 120<<10)}
	for i := range 10_000 {
		in[fmt.Sprintf("h%05d", i)] = int64(i)
	}
	size := 0
	copied := (Message{Headers: in}).copyForRepublish().Headers
	if copied["traceparent"] != "00-…" {
		t.Error("the trace context is lost")
	}
	for name, value := range copied {
		if len(name) > 255 {
			t.Errorf("a name of %d bytes", len(name))
		}
		n, _ := scalarSize(value)
		size += len(name) + n
	}
	if size > maxCopied || size < maxCopied/2 {
		t.Errorf("%d bytes of headers", size)
	}
}

func TestClipIsValidText(t *testing.T) {
	for _, s := range []string{"short", "ééééééééé", "\xff\xfe", "a\x80bcdefghijk"} {
		if got := clip(s, 5); !utf8.ValidString(got) || len(got) > 12 {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestOutcomeMarks(t *testing.T) {
	base := errors.New("base")
	for _, c := range []struct {
		err                    error
		permanent, unavailable bool
	}{
		{nil, false, false},
		{base, false, false},
		{Permanent(base), true, false},
		{Unavailable(base), false, true},
		{fmt.Errorf("more: %w", Permanent(base)), true, false},
		{fmt.Errorf("more: %w", Unavailable(base)), false, true},
		{Permanent(context.Canceled), true, false},
		{context.DeadlineExceeded, false, true},
		{Unavailable(nil), false, false},
		{Permanent(nil), false, false},
	} {
		if IsPermanent(c.err) != c.permanent || IsUnavailable(c.err) != c.unavailable {
			t.Errorf("%v: permanent %v, unavailable %v", c.err, IsPermanent(c.err), IsUnavailable(c.err))
		}
	}
	if !errors.Is(Permanent(base), base) || !errors.Is(Unavailable(base), base) {
		t.Error("a mark hides the error")
	}
}
