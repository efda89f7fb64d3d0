package load

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteTable writes the result for people.
func (r Result) WriteTable(w io.Writer) error {
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	count := func(name string, n int) { fmt.Fprintf(t, "%s\t%d\t\t\t\t\t\n", name, n) }
	row := func(name string, l Latency) {
		if l.Count == 0 {
			count(name, 0)
			return
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t\n", name, l.Count, show(l.P50), show(l.P95), show(l.P99), show(l.Max))
	}
	fmt.Fprintln(t, "\tcount\tp50\tp95\tp99\tmax\t")
	count("offered", r.Offered)
	if r.NotSent > 0 {
		count("not sent", r.NotSent)
	}
	if r.Retries > 0 {
		count("tried again", r.Retries)
	}
	for _, a := range r.Answers {
		row(fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)), a.Latency)
	}
	if r.NoAnswer > 0 {
		count("no answer", r.NoAnswer)
	}
	row("acceptance to outcome", r.Saga)
	count("Confirmed", r.Outcomes.Confirmed)
	count("Rejected", r.Outcomes.Rejected)
	count("Cancelled", r.Outcomes.Cancelled)
	count("unfinished", r.Outcomes.Unfinished)
	if err := t.Flush(); err != nil {
		return fmt.Errorf("lay out the table: %w", err)
	}
	for line := range strings.Lines(table.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n")) // empty cells keep the columns together
	}
	fmt.Fprintf(w, "\ngoodput  %.1f bookings/s finished in the %.1f s that load was offered, %.1f/s of them Confirmed\n",
		r.Goodput.Finished, r.Seconds, r.Goodput.Confirmed)
	if r.Failure != "" {
		fmt.Fprintf(w, "the first without an answer: %s\n", r.Failure)
	}
	return nil
}

// show is so many milliseconds with three digits.
func show(ms float64) string {
	switch {
	case ms >= 10_000:
		return fmt.Sprintf("%.1f s", ms/float64(time.Second/time.Millisecond))
	case ms >= 100:
		return fmt.Sprintf("%.0f ms", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.2f ms", ms)
}
