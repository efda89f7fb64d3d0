package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// results are all samples of a run, in the order in which they were first taken.
type results struct {
	lines      []*line
	recoveries []time.Duration
}

// line is what was measured under one name and load, once or more often.
type line struct {
	name    string
	clients int
	samples []sample
}

func (r *results) add(name string, clients int, s sample) {
	l := r.find(name, clients)
	if l == nil {
		l = &line{name: name, clients: clients}
		r.lines = append(r.lines, l)
	}
	l.samples = append(l.samples, s)
}

func (r *results) find(name string, clients int) *line {
	for _, l := range r.lines {
		if l.name == name && l.clients == clients {
			return l
		}
	}
	return nil
}

// rate is the mean of the samples' rates.
func (l *line) rate() float64 {
	var sum float64
	for _, s := range l.samples {
		sum += s.rate
	}
	return sum / float64(len(l.samples))
}

// latency is a quantile over all samples.
func (l *line) latency(q float64) time.Duration {
	var all []time.Duration
	for _, s := range l.samples {
		all = append(all, s.latencies...)
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(q*float64(len(all))))]
}

// cpu is the mean of what was used.
func (l *line) cpu() usage {
	var sum usage
	for _, s := range l.samples {
		sum.own += s.cpu.own
		sum.broker += s.cpu.broker
		sum.database += s.cpu.database
	}
	n := time.Duration(len(l.samples))
	return usage{sum.own / n, sum.broker / n, sum.database / n}
}

// report is the table of all results, and the ratios between them that were measured.
func (r *results) report(included string) string {
	var b strings.Builder
	b.WriteString(included + "\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "measured\tat a time\trate/s\tp50 ms\tp99 ms\tCPU ms each: own\tbroker\tdatabase\t")
	for _, l := range r.lines {
		cpu := l.cpu()
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.1f\t%.1f\t%.3f\t%.3f\t%.3f\t\n", l.name, l.clients, l.rate(),
			ms(l.latency(0.5)), ms(l.latency(0.99)), ms(cpu.own), ms(cpu.broker), ms(cpu.database))
	}
	_ = w.Flush() // a strings.Builder takes everything
	b.WriteString("\n")
	if n := len(r.recoveries); n > 0 {
		fmt.Fprintf(&b, "recovery: broker's port open to first Confirmed: at most %.0f ms of %d time(s)\n\n", ms(slices.Max(r.recoveries)), n)
	}
	r.ratio(&b, "door ratio", nameDoor, nameOneTransaction, doorClients)
	r.ratio(&b, fmt.Sprintf("ratio at %d", fewInFlight), nameSaga, nameLimit, fewInFlight)
	r.ratio(&b, "ratio", nameSaga, nameLimit, mostInFlight)
	return b.String()
}

// ratio writes how much faster one is than another, if both were measured.
func (r *results) ratio(b *strings.Builder, text, one, other string, clients int) {
	above, below := r.find(one, clients), r.find(other, clients)
	if above != nil && below != nil {
		fmt.Fprintf(b, "%s %.2f\n", text, above.rate()/below.rate())
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
