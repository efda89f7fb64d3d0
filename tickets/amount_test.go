package tickets

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseAmount(t *testing.T) {
	for in, want := range map[string]string{
		"450": "450", "450.5": "450.5", "450.50": "450.5", "0.01": "0.01", "4.5e2": "450", "1000000": "1000000",
		"-3.25": "-3.25", "0": "0", "0.00": "0", "100e-2": "1", "1E3": "1000",
		// refused:
		"": "", "x": "", "1.234": "", "0.001": "", "1e400": "", "1e-400": "", "1e-30": "", "NaN": "", "Infinity": "",
		"450.00000000000000000001": "", "99999999999999999999": "", "9223372036854775808": "", "1_000": "", " 1": "", "0x10": "",
		"9999999999999999e-18": "", "1000000000001": "", strings.Repeat("1", 1000): "",
	} {
		a, err := ParseAmount(in)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q is read as %s", in, a)
		case want != "" && (err != nil || a.String() != want):
			t.Errorf("%q is read as %s, %v; want %s", in, a, err, want)
		}
	}
}

// Every amount survives the wire and the databases, and equal amounts are ==.
func TestAmountIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minor := rapid.Int64Range(-maxWhole*100, maxWhole*100).Draw(t, "minor units")
		a := AmountFromMinor(minor)
		if a.Minor() != minor {
			t.Fatalf("%d minor units became %d", minor, a.Minor())
		}
		text := fmt.Sprintf("%d.%02d", minor/100, abs(minor%100))
		if minor < 0 && minor > -100 {
			text = "-" + text
		}
		if parsed, err := ParseAmount(text); err != nil || parsed != a {
			t.Fatalf("%s is read as %s, %v, not %s", text, parsed, err, a)
		}
		body, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var back Amount
		if err := json.Unmarshal(body, &back); err != nil || back != a {
			t.Fatalf("%s reads back as %s, %v", body, back, err)
		}
	})
}

func abs(n int64) int64 { return max(n, -n) }

func TestAmountIsANumberOnly(t *testing.T) {
	for _, in := range []string{`"450"`, `null`, `true`, `[1]`, `{}`, `"1e2"`} {
		var a Amount
		if err := json.Unmarshal([]byte(in), &a); err == nil && in != "null" {
			t.Errorf("%s is read as %s", in, a)
		}
		if a != (Amount{}) {
			t.Errorf("%s changed the amount to %s", in, a)
		}
	}
}

func FuzzParseAmount(f *testing.F) {
	f.Add("450.5")
	f.Add("1e-30")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseAmount(s)
		if err != nil {
			return
		}
		if back := AmountFromMinor(a.Minor()); back != a {
			t.Fatalf("%q is %s, but its minor units say %s", s, a, back)
		}
	})
}
