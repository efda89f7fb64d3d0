package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"boxoffice/internal/client"
	"boxoffice/internal/plain"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

const (
	lookLimit    = 30 * time.Second // of a look at the parked messages, which others do not see meanwhile
	lookPatience = 5 * time.Second  // with a broker that cannot be reached
	mostListed   = 20               // parked messages that verify lists
)

// parkedReport is the parked messages, if someone knows of them.
type parkedReport struct {
	known    bool
	unlooked string                 // why they are not known, though someone was there to ask
	letters  []messaging.DeadLetter // by queue, oldest first
	more     int                    // did not fit into the answer
	others   held
	list     string // the command that lists them all
}

// parked looks at the parked messages, once. They break nothing, so that neither
// does an error.
func (v *verifyCmd) parked(ctx context.Context, c console) parkedReport {
	looking, cancel := context.WithTimeoutCause(ctx, lookLimit, fmt.Errorf("looking at them took longer than %s", lookLimit))
	defer cancel()
	var p parkedReport
	var err error
	if v.BrokerURL == "" || v.BrokerURL.InProcess() {
		p, err = parkedIn(looking, v.URL)
	} else {
		p = parkedReport{known: true, list: "boxoffice dead list"}
		p.letters, p.others, err = readParked(looking, c, deadFrom{BrokerURL: v.BrokerURL, Timeout: lookPatience}, "", deadWhich{})
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return parkedReport{unlooked: "interrupted"}
	case err != nil:
		return parkedReport{unlooked: oneLine(err)}
	}
	return p
}

// parkedIn asks a running up. Of a booking service that is in none, or is on
// RabbitMQ, nothing is known.
func parkedIn(ctx context.Context, url string) (parkedReport, error) {
	up, err := client.New(url)
	if err != nil {
		return parkedReport{}, err
	}
	defer up.Close()
	var answer deadJSON
	err = part{tickets.Booking, up}.get(ctx, "lab/dead", &answer)
	p, refused := errors.AsType[*client.ProblemError](err)
	_, stranger := errors.AsType[*client.StrangerError](err) // has said before that it is booking: it is who stands in front
	switch {
	case refused && p.Status == http.StatusNotFound || stranger:
		return parkedReport{}, nil
	case err != nil:
		return parkedReport{}, err
	}
	return parkedReport{
		known: true, letters: answer.letters(), more: answer.More, others: answer.Held, list: "boxoffice dead list --url " + url,
	}, nil
}

// write says how many there are in each queue, and names the first ones.
func (p parkedReport) write(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	in := map[string]int{}
	last := "" // queue
	for _, l := range p.letters {
		in[l.Queue]++
		last = l.Queue
	}
	for i, l := range p.letters {
		if n := in[l.Queue]; i == 0 || l.Queue != p.letters[i-1].Queue {
			few := ""
			if p.more > 0 && l.Queue == last { // and queues after it may have some
				few = "at least "
			}
			fmt.Fprintf(w, "parked: %s%d in %s\n", few, n, messaging.DeadQueue(l.Queue))
		}
		if i < mostListed {
			fmt.Fprintln(w, "     "+describeParked(l))
		}
	}
	_ = w.Flush() // as with all that is printed here
	if more := max(len(p.letters)-mostListed, 0) + p.more; more > 0 {
		fmt.Fprintf(out, "     ... and %d more: %s\n", more, p.list)
	}
	if len(p.others) > 0 {
		fmt.Fprintf(out, "parked: left out is what %s\n", p.others)
	}
	if p.unlooked != "" {
		fmt.Fprintf(out, "parked: not listed: %s\n", plain.Line(p.unlooked))
	}
}

func describeParked(l messaging.DeadLetter) string {
	const unknown = "unknown"
	reason := short(l.Reason, 60)
	if event := l.Message.Type; event != l.Event && event != "" {
		reason = short(event, 40) + ": " + reason
	}
	return fmt.Sprintf("booking %s\ttrace %s\t%s", short(cmp.Or(l.Key, unknown), 40), short(cmp.Or(l.TraceID, unknown), 40), reason)
}
