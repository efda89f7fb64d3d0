package lab

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"boxoffice/tickets"
)

// MaxScript is the longest script, in bytes: it travels in every header.
const MaxScript = 2000

// Action is what happens to a delivery.
type Action string

// The actions. Those with a count happen the first N times.
const (
	Fail             Action = "fail"               // attempts 1 to N fail
	Poison           Action = "poison"             // a permanent failure
	Drop             Action = "drop"               // commit, then lose the channel before publish and acknowledgement
	DropAfterPublish Action = "drop-after-publish" // lose the channel between publish and acknowledgement
	Exit             Action = "exit"               // the process dies where Drop loses the channel
	Duplicate        Action = "duplicate"          // the outcome is published twice
	Delay            Action = "delay"              // the delivery is held up before it is handled
)

// maxCount keeps drops below the broker's delivery limit: a fault must not park
// its message.
const maxCount = 10

// RenewAfter is the consumer's setting with which faults park no other message
// either: those of several bookings add up for all that share their channels.
const RenewAfter = maxCount + 1

// maxDelay bounds Delay.
const maxDelay = 5 * time.Minute

// Fault is one line of a script.
type Fault struct {
	Queue  string // whose delivery: <service>.<Event>
	Action Action
	Count  int           // of Fail, Drop, DropAfterPublish and Exit; else 1
	Delay  time.Duration // of Delay
}

func (f Fault) String() string {
	switch {
	case f.Action == Delay:
		return fmt.Sprintf("%s=%s:%s", f.Queue, f.Action, f.Delay)
	case f.Count > 1:
		return fmt.Sprintf("%s=%s*%d", f.Queue, f.Action, f.Count)
	}
	return f.Queue + "=" + string(f.Action)
}

// Script is the faults of one booking.
type Script []Fault

func (s Script) String() string {
	texts := make([]string, len(s))
	for i, f := range s {
		texts[i] = f.String()
	}
	return strings.Join(texts, ", ")
}

// ScriptError is a mistake in a script, and where it is.
type ScriptError struct {
	Position int // of the first wrong character, from 1
	Text     string
}

func (e *ScriptError) Error() string { return fmt.Sprintf("at character %d: %s", e.Position, e.Text) }

const wanted = "want <service>.<Event>=<action>, for example seats.BookingCreated=fail*2"

// Parse reads a script such as
//
//	seats.BookingCreated=fail*2, payments.SeatReserved=drop
//
// Its error is a *ScriptError.
func Parse(text string) (Script, error) {
	if len(text) > MaxScript {
		return nil, &ScriptError{MaxScript + 1, fmt.Sprintf("a script may have %d characters at most", MaxScript)}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &ScriptError{1, "the script is empty; " + wanted}
	}
	var script Script
	position := 1
	for part := range strings.SplitSeq(text, ",") {
		trimmed := strings.TrimLeft(part, " \t")
		at := position + len(part) - len(trimmed)
		position += len(part) + 1
		f, err := parseFault(strings.TrimRight(trimmed, " \t"), at)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(script, func(other Fault) bool { return other.Queue == f.Queue && other.Action == f.Action }) {
			return nil, &ScriptError{at, fmt.Sprintf("%s=%s is there already", f.Queue, f.Action)}
		}
		script = append(script, f)
	}
	return script, nil
}

func parseFault(text string, at int) (Fault, error) {
	queue, action, ok := strings.Cut(text, "=")
	if !ok {
		return Fault{}, &ScriptError{at, wanted}
	}
	queue = strings.TrimSpace(queue)
	if queues := tickets.System(nil).WorkQueues(); !slices.Contains(queues, queue) {
		return Fault{}, &ScriptError{at, fmt.Sprintf("%q is none of %s", queue, strings.Join(queues, ", "))}
	}
	at += strings.Index(text, "=") + 1
	at += len(action) - len(strings.TrimLeft(action, " \t"))
	action = strings.TrimSpace(action)
	f, err := parseAction(action)
	if err != nil {
		return Fault{}, &ScriptError{at, err.Error() + commaHint(action)}
	}
	f.Queue = queue
	return f, nil
}

// commaHint is for what looks like two faults: no action has white space or "=".
func commaHint(action string) string {
	if strings.ContainsFunc(action, func(r rune) bool { return r == '=' || unicode.IsSpace(r) }) {
		return "; several faults are separated by commas"
	}
	return ""
}

func parseAction(text string) (Fault, error) {
	if rest, ok := strings.CutPrefix(text, string(Delay)+":"); ok {
		d, err := time.ParseDuration(rest)
		if err != nil || d <= 0 || d > maxDelay {
			return Fault{}, fmt.Errorf("%q is not a delay with its unit, up to %s, such as delay:2s", text, maxDelay)
		}
		return Fault{Action: Delay, Count: 1, Delay: d}, nil
	}
	name, count, counted := strings.Cut(text, "*")
	switch action := Action(name); action {
	case Fail, Drop, DropAfterPublish, Exit:
		n, err := strconv.Atoi(cmp.Or(count, "0"))
		if !counted {
			n, err = 1, nil
		}
		if err != nil || n < 1 || n > maxCount {
			return Fault{}, fmt.Errorf("%q: the count must be a whole number from 1 to %d", text, maxCount)
		}
		return Fault{Action: action, Count: n}, nil
	case Poison, Duplicate:
		if counted {
			return Fault{}, fmt.Errorf("%q: %s takes no count", text, action)
		}
		return Fault{Action: action, Count: 1}, nil
	case Delay:
		return Fault{}, errors.New("delay needs how long, such as delay:2s")
	}
	return Fault{}, fmt.Errorf("%q is none of fail*N, poison, drop*N, drop-after-publish*N, exit*N, duplicate, delay:2s", text)
}
