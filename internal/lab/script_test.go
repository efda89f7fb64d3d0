package lab

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"seats.BookingCreated=fail":                                                  "seats.BookingCreated=fail",
		"seats.BookingCreated=fail*2, payments.SeatReserved=drop":                    "seats.BookingCreated=fail*2, payments.SeatReserved=drop",
		" booking.PaymentFailed = delay:1500ms ,seats.PaymentFailed=poison":          "booking.PaymentFailed=delay:1.5s, seats.PaymentFailed=poison",
		"payments.SeatReserved=drop-after-publish*3,payments.SeatReserved=duplicate": "payments.SeatReserved=drop-after-publish*3, payments.SeatReserved=duplicate",
		"seats.BookingCreated=exit*1":                                                "seats.BookingCreated=exit",
	} {
		s, err := Parse(text)
		if err != nil || s.String() != want {
			t.Errorf("%q is read as %q, %v", text, s, err)
		}
		if again, err := Parse(s.String()); err != nil || again.String() != want {
			t.Errorf("%q reads back as %q, %v", s, again, err)
		}
	}
}

func TestParseSaysWhereTheMistakeIs(t *testing.T) {
	const commas = "; several faults are separated by commas"
	for text, want := range map[string]struct {
		position int
		text     string
	}{
		"":                                        {1, "the script is empty; want <service>.<Event>=<action>, for example seats"},
		" \t ":                                    {1, "the script is empty"},
		",":                                       {1, "want <service>.<Event>=<action>"},
		"seats.BookingCreated":                    {1, "want <service>.<Event>=<action>"},
		"seats.Nonsense=fail":                     {1, "none of seats.BookingCreated"},
		"hall.BookingCreated=fail":                {1, "none of"},
		"seats.SeatReserved=fail":                 {1, "none of"},
		"seats.BookingCreated=burn":               {22, "none of fail*N"},
		"seats.BookingCreated=fail*0":             {22, "from 1 to 10"},
		"seats.BookingCreated=fail*11":            {22, "from 1 to 10"},
		"seats.BookingCreated=fail*x":             {22, "from 1 to 10"},
		"seats.BookingCreated=fail*":              {22, "from 1 to 10"},
		"seats.BookingCreated=poison*2":           {22, "takes no count"},
		"seats.BookingCreated=delay":              {22, "how long"},
		"seats.BookingCreated=delay:x":            {22, "not a delay"},
		"seats.BookingCreated=delay:-1s":          {22, "not a delay"},
		"seats.BookingCreated=delay:1h":           {22, "not a delay"},
		"seats.BookingCreated=fail, seats.x=fail": {28, "none of"},
		"seats.BookingCreated=fail,":              {27, "want"},
		"seats.BookingCreated=fail,seats.BookingCreated=fail*2":  {27, "there already"},
		"seats.BookingCreated=fail*2 payments.SeatReserved=drop": {22, "from 1 to 10" + commas},
		"seats.BookingCreated=fail payments.SeatReserved=drop":   {22, "duplicate, delay:2s" + commas},
		"seats.BookingCreated=drop;payments.SeatReserved=drop":   {22, "duplicate, delay:2s" + commas},
		"seats.BookingCreated=drop*x=1":                          {22, "from 1 to 10" + commas},
		"seats.BookingCreated=exit*2\tseats.PaymentFailed=drop":  {22, "from 1 to 10" + commas},
		"seats.BookingCreated=drop-after-publish*1 duplicate":    {22, "from 1 to 10" + commas},
		"seats.BookingCreated=poison duplicate":                  {22, "duplicate, delay:2s" + commas},
		"seats.BookingCreated=duplicate*1 poison":                {22, "takes no count" + commas},
		"seats.BookingCreated=delay:2s seats.PaymentFailed=drop": {22, "such as delay:2s" + commas},
		"seats.BookingCreated=delay seats.PaymentFailed=drop":    {22, "duplicate, delay:2s" + commas},
		strings.Repeat("x", 10_000):                              {2001, "2000 characters"},
	} {
		_, err := Parse(text)
		e, ok := errors.AsType[*ScriptError](err)
		if !ok || e.Position != want.position || !strings.Contains(e.Text, want.text) ||
			strings.Contains(e.Text, commas) != strings.Contains(want.text, commas) {
			t.Errorf("%.60q: %v; want character %d and %q", text, err, want.position, want.text)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("seats.BookingCreated=fail*2, payments.SeatReserved=delay:2s")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q reads back as %q, %v", s, again, err)
		}
		for _, fault := range s {
			if fault.Count < 1 || fault.Count > maxCount || fault.Delay > 5*time.Minute {
				t.Fatalf("%q lets %+v through", text, fault)
			}
		}
	})
}
