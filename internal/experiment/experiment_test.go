package experiment

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"boxoffice/internal/lab"
	"boxoffice/internal/verify"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFind(t *testing.T) {
	all := All()
	found, err := Find([]string{"poison", "all"})
	if err != nil || len(found) != len(all)+1 || found[0].Name != "poison" || found[1].Name != all[0].Name {
		t.Errorf("%d found, %v", len(found), err)
	}
	if _, err := Find([]string{"poison", "nonsense"}); err == nil || !strings.Contains(err.Error(), `"nonsense"`) {
		t.Errorf("%v", err)
	}
}

// Each safety has an experiment that shows what it is for.
func TestEverySafetyIsShown(t *testing.T) {
	seen := map[string]bool{}
	var shown []lab.Unsafe
	for _, e := range All() {
		if seen[e.Name] || e.Lesson == "" || e.Run == nil {
			t.Errorf("%+v", e)
		}
		seen[e.Name] = true
		shown = append(shown, e.Unsafe...)
	}
	for _, u := range lab.Unsafes() {
		if !slices.Contains(shown, u) {
			t.Errorf("no experiment fails without %s", u)
		}
	}
}

func TestCannot(t *testing.T) {
	found, err := Find([]string{"wrong-seat"})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if _, err := Run(t.Context(), found[0], Stack{}, &text); !errors.Is(err, ErrCannot) || !strings.Contains(err.Error(), "BROKER_URL") {
		t.Errorf("without a broker: %v", err)
	}
	nobody := Stack{Targets: verify.Targets{Booking: "http://127.0.0.1:1", Seats: "http://127.0.0.1:1", Payments: "http://127.0.0.1:1"}}
	if _, err := Run(t.Context(), All()[0], nobody, &text); err == nil || errors.Is(err, ErrCannot) || !strings.Contains(err.Error(), "booking does not answer") {
		t.Errorf("without services: %v", err)
	}
}

func TestSeatsAreGivenOutOnce(t *testing.T) {
	s := &Stage{total: 3, taken: map[int]bool{2: true}}
	for _, want := range []int{1, 3} {
		if seat, err := s.FreeSeat(); seat != want || err != nil {
			t.Errorf("seat %d, %v, want %d", seat, err, want)
		}
	}
	if _, err := s.FreeSeat(); !errors.Is(err, ErrCannot) {
		t.Errorf("a full hall: %v", err)
	}
}
