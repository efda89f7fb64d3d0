package plain_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"boxoffice/internal/plain"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"two\r\nlines\tand ї 𝄞": "two lines and ї 𝄞",
		"\x1b[2J\x07\u009b":     "�[2J��",
		"\u202eabc":             "�abc",
		"\xff":                  "�",
	} {
		if got := plain.Line(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestShort(t *testing.T) {
	for text, want := range map[string]string{
		"abc": "abc", "abcd": "ab…", "їїїї": "її…", "𝄞𝄞𝄞": "𝄞𝄞𝄞", strings.Repeat("\n", 1_000_000): "  …",
	} {
		if got := plain.Short(text, 3); got != want {
			t.Errorf("%.20q is %q, want %q", text, got, want)
		}
	}
}

func FuzzShort(f *testing.F) {
	f.Add("a\x1b[2J\r\nї", 3)
	f.Add("\xf0\x9d\x84", 1)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = 1 + (most&0xff+0x100)%0x100
		got := plain.Short(text, most)
		if utf8.RuneCountInString(got) > most || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q is %q", text, got)
		}
	})
}
