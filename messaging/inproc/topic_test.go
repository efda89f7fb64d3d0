package inproc

import (
	"strings"
	"testing"
)

func TestTopicMatching(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"PaymentRefused", []string{"PaymentRefused"}, []string{"", "Payment", "PaymentRefused.x", "x.PaymentRefused"}},
		{"*", []string{"a", "*"}, []string{"", "a.b"}},
		{"#", []string{"", "a", "a.b.c", "."}, nil},
		{"*.seats.X", []string{"50ms.seats.X", "redrive.seats.X"}, []string{"stock.X", "50ms.booking.X", "a.b.seats.X"}},
		{"50ms.seats.*", []string{"50ms.seats.X"}, []string{"50ms.seats", "50ms.seats.X.Y", "150ms.seats.X"}},
		{"a.#", []string{"a", "a.b", "a.b.c"}, []string{"", "b", "b.a"}},
		{"#.a", []string{"a", "b.a", "a.a", "a.b.a"}, []string{"", "a.b"}},
		{"a.#.b", []string{"a.b", "a.x.b", "a.b.b", "a.b.x.b"}, []string{"a", "b", "a.b.x"}},
		{"#.#", []string{"", "a", "a.b"}, nil},
		{"*.#", []string{"a", "a.b"}, []string{""}},
		{"#.*", []string{"a", "a.b"}, []string{""}},
		{"#.a.#.b.#", []string{"a.b", "x.a.y.b.z", "a.a.b"}, []string{"b.a", "a", ""}},
		{"*.*", []string{"a.b", "."}, []string{"a", "a.b.c"}},
		{"", []string{""}, []string{"a", "."}},
		{"a.b", nil, []string{"aXb", "a*b"}},
	} {
		for _, key := range c.yes {
			if !pattern(split(c.pattern)).matches(split(key)) {
				t.Errorf("%q does not match %q", c.pattern, key)
			}
		}
		for _, key := range c.no {
			if pattern(split(c.pattern)).matches(split(key)) {
				t.Errorf("%q matches %q", c.pattern, key)
			}
		}
	}
}

// FuzzTopicMatching compares with the definition, which is slow but plain.
func FuzzTopicMatching(f *testing.F) {
	for _, seed := range [][2]string{{"a.#.b", "a.x.b"}, {"#.*.#", "a"}, {"*", ""}, {"#.a.#.a", "a.a.a"}, {"", "."}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, p, key string) {
		if strings.Count(p, "#") > 5 || len(p) > 60 || len(key) > 60 {
			return // the definition is exponential
		}
		if got, want := pattern(split(p)).matches(split(key)), defined(split(p), split(key)); got != want {
			t.Errorf("%q against %q: %v, want %v", p, key, got, want)
		}
	})
}

func defined(p, words []string) bool {
	switch {
	case len(p) == 0:
		return len(words) == 0
	case p[0] == "#":
		return defined(p[1:], words) || len(words) > 0 && defined(p, words[1:])
	case len(words) == 0:
		return false
	}
	return (p[0] == "*" || p[0] == words[0]) && defined(p[1:], words[1:])
}
