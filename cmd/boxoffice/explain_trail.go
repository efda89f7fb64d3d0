package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/jaeger"
	"boxoffice/internal/plain"
	"boxoffice/internal/telemetry"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// trail is what the booking's trace tells. Only what has ended is in it.
type trail struct {
	spans   []telemetry.Span
	late    bool   // they are Jaeger's, to which services export every few seconds
	unknown string // why there are none
	toKnow  string // what else could tell, than the log
}

// follow reads the trail, from Jaeger or from a running up. A Jaeger that has
// none is told of, unless it is up that has it.
func (e *explainCmd) follow(ctx context.Context, booking part, traceID string) trail {
	if traceID == "" {
		return trail{unknown: "the booking has no trace"}
	}
	inJaeger, toKnow := "", "name the Jaeger that the services export to (JAEGER_URL), or "
	if e.JaegerURL != "" {
		spans, err := e.fromJaeger(ctx, traceID)
		if err == nil {
			return trail{spans: spans, late: true}
		}
		inJaeger, toKnow = oneLine(err), ""
	}
	var kept traceJSON
	err := booking.get(ctx, "lab/traces/"+traceID, &kept)
	if err == nil && len(kept.Spans) > 0 {
		var t trail
		for _, s := range kept.Spans {
			t.spans = append(t.spans, s.span())
		}
		return t
	}
	atUp := fmt.Sprintf("%s keeps only its latest traces, and trace %s is not among them", booking, traceID)
	if p, refused := errors.AsType[*client.ProblemError](err); refused && p.Status == http.StatusNotFound {
		atUp = fmt.Sprintf("%s keeps no traces, and no Jaeger is named", booking)
	} else if err != nil {
		atUp = oneLine(err)
	}
	return trail{unknown: cmp.Or(inJaeger, atUp), toKnow: toKnow}
}

// fromJaeger is what Jaeger has of the trace, if it says so in time.
func (e *explainCmd) fromJaeger(ctx context.Context, traceID string) ([]telemetry.Span, error) {
	j, err := jaeger.New(e.JaegerURL)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	from := "Jaeger at " + j.String()
	ctx, cancel := context.WithTimeoutCause(ctx, e.Timeout, fmt.Errorf("%s does not answer within %s", from, e.Timeout))
	defer cancel()
	spans, err := j.Trace(ctx, traceID)
	if errors.Is(err, jaeger.ErrNoTrace) {
		return nil, notIn(from, traceID)
	}
	return spans, err
}

// latestCopy is the publish of the copy that last went to wait for the queue;
// nil if there is none, or it has come back.
func (t trail) latestCopy(queue string) *telemetry.Span {
	var latest *telemetry.Span
	for i, s := range t.spans {
		key, isRetry := strings.CutPrefix(s.Name, toWait)
		if isRetry && strings.HasSuffix(key, "."+queue) && s.Error == "" && (latest == nil || s.Start.After(latest.Start)) {
			latest = &t.spans[i]
		}
	}
	if latest != nil && slices.ContainsFunc(t.spans, func(s telemetry.Span) bool { return s.ParentID == latest.ID }) {
		return nil
	}
	return latest
}

// toWait begins the name of the span of a copy that is sent to wait.
const toWait = "publish " + tickets.ExchangeRetry + " "

// retry says where a copy of a message waits, if the trail shows one.
func (f *facts) retry(queue string, now time.Time) string {
	sent := f.trail.latestCopy(queue)
	if sent == nil {
		return ""
	}
	delay, _, _ := strings.Cut(strings.TrimPrefix(sent.Name, toWait), ".")
	wait, err := time.ParseDuration(delay)
	if err != nil { // it is not as boxoffice writes it
		return ""
	}
	due := sent.End.Add(wait)
	isDue := !due.After(now)
	if isDue && slices.ContainsFunc(f.parked, func(l messaging.DeadLetter) bool { return l.Queue == queue }) {
		return "" // it has come back, and is what is parked
	}
	when := comesBack(due, now)
	if isDue && f.trail.late {
		when += ", and Jaeger, which hears of it some seconds late, knows no more"
	}
	service, _, _ := strings.Cut(queue, ".")
	in := tickets.WaitQueue(service, wait)
	handled := slices.IndexFunc(f.trail.spans, func(s telemetry.Span) bool { return s.ID == sent.ParentID })
	if handled < 0 { // it ended later, and is on its way
		return fmt.Sprintf("A copy of its message waits in %s, as which attempt is not known yet; it %s.", in, when)
	}
	last := f.trail.spans[handled]
	if last.Error == "" { // held, or renewed
		return fmt.Sprintf("A copy of its message waits outside in %s, as the same attempt; it %s.", in, when)
	}
	return fmt.Sprintf("Attempt %v of %s failed (%s); the next one waits in %s; it %s.",
		plain.Short(fmt.Sprint(last.Attributes["boxoffice.attempt"]), 20), queue, plain.Short(last.Error, 500), in, when)
}

// comesBack is when a copy leaves the queue in which it waits.
func comesBack(due, now time.Time) string {
	at := due.Local().Format(time.TimeOnly)
	if left := due.Sub(now); left > 0 {
		return fmt.Sprintf("comes back at about %s, in %.0f s", at, math.Ceil(left.Seconds()))
	}
	return "is due since " + at
}

// waits is whether a copy waits for one of the queues, as far as is known.
func (f *facts) waits(queues []string, now time.Time) bool {
	return slices.ContainsFunc(queues, func(queue string) bool { return f.retry(queue, now) != "" })
}

// unclear says what is not known of copies that wait, and how to know it.
func (f *facts) unclear(queues []string, now time.Time) []string {
	switch {
	case len(f.parked) > 0: // that is why the booking does not go on
		return nil
	case f.trail.unknown != "":
		lines := []string{"Whether a copy of its message waits for another attempt is not known: " + f.trail.unknown}
		if len(f.silent) > 0 { // nor is known whose message it is
			return lines
		}
		return append(lines, fmt.Sprintf("To know it, %slook into the log of %s for %q with this booking's id.",
			f.trail.toKnow, strings.Join(services(queues), " and of "), "failed; will be tried again"))
	case f.trail.late && len(f.silent) == 0 && !f.waits(queues, now):
		return []string{"As far as Jaeger knows, which hears of it some seconds late, no copy of its message waits for another attempt."}
	}
	return nil
}

// services are those that own the queues.
func services(queues []string) []string {
	var names []string
	for _, queue := range queues {
		service, _, _ := strings.Cut(queue, ".")
		names = append(names, service)
	}
	return names
}
