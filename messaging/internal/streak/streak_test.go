package streak

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestStreakIsSaidWhenItBeginsAndOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Streak
		if _, ended := s.Worked(); ended || s.Err() != nil {
			t.Error("there is a streak before the first failure")
		}
		began := time.Now()
		said := 0
		for range 150 { // two and a half minutes
			if _, say := s.Failed(errors.New("broken")); say {
				said++
			}
			time.Sleep(time.Second)
		}
		if said != 3 {
			t.Errorf("said %d times, want at the beginning and after each minute", said)
		}
		err := fmt.Errorf("wrapped: %w", s.Err())
		since, ok := errors.AsType[interface {
			error
			Since() time.Time
		}](err)
		if !ok || !since.Since().Equal(began) {
			t.Errorf("%v does not tell that it lasts since %v", err, began)
		}
		r, ended := s.Worked()
		if !ended || r.Tries != 150 || r.Lasted() != 150*time.Second {
			t.Errorf("in the end: %+v, %t", r, ended)
		}
		if s.Err() != nil {
			t.Errorf("after a success: %v", s.Err())
		}
		if _, say := s.Failed(errors.New("again")); !say {
			t.Error("a new streak is not said")
		}
	})
}

func TestBookForgetsWhatNobodyTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Book[string]
		first := time.Now()
		b.Failed("a", errors.New("a is broken"))
		time.Sleep(time.Second)
		b.Failed("b", errors.New("b is broken"))
		b.Worked("c")
		for range 3 {
			time.Sleep(Forgotten / 2)
			b.Failed("a", errors.New("a is broken"))
		}
		if err := b.Err(); err == nil || err.Error() != "a is broken" || !err.(*failure).since.Equal(first) { //nolint:errorlint,forcetypeassert // as returned
			t.Errorf("got %v, want the streak of a, from the beginning", err)
		}
		b.Worked("a")
		if err := b.Err(); err != nil {
			t.Errorf("b is not forgotten: %v", err)
		}
	})
}
