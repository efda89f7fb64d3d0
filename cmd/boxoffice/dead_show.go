package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"boxoffice/internal/plain"
	"boxoffice/messaging"
)

// deadShowCmd shows parked messages.
type deadShowCmd struct {
	deadWhich
	deadFrom
	URL string `name:"url" type:"given" placeholder:"URL" help:"A running boxoffice up, whose broker is in its process, instead of BROKER_URL."`
}

// Help shows examples.
func (*deadShowCmd) Help() string {
	return `Looking at messages moves none. One that someone else is looking at, or redriving, is not seen; it says so.

Examples:

  boxoffice dead show --id 0197a3f0-7c4e-7d2a-9d57-0f6f4a1f2b3c
  boxoffice dead show payments.SeatReserved --broker-url amqp://guest:guest@localhost:5672/
  boxoffice dead show --url http://127.0.0.1:5200`
}

// Check says what does not fit together.
func (d *deadShowCmd) Check() error {
	_, err := d.queues()
	return errors.Join(err, d.check(d.URL))
}

// Run shows them.
func (d *deadShowCmd) Run(ctx context.Context, c console) error {
	letters, others, err := readParked(ctx, c, d.deadFrom, d.URL, d.deadWhich)
	if err != nil {
		return err
	}
	if len(letters) == 0 {
		return d.none(c, others)
	}
	others.note(c)
	for i, l := range letters {
		if i > 0 {
			fmt.Fprintln(c.out)
		}
		if err := writeLetter(c.out, l); err != nil {
			return err
		}
	}
	return nil
}

func writeLetter(out io.Writer, l messaging.DeadLetter) error {
	by := "the broker"
	if l.Service != "" {
		by = plain.Line(l.Service)
	}
	parked := "by " + by
	if !l.ParkedAt.IsZero() {
		parked = fmt.Sprintf("%s, %s ago, by %s", l.ParkedAt.Format(time.RFC3339), age(l.ParkedAt), by)
	}
	m := l.Message
	fmt.Fprintln(out, messaging.DeadQueue(l.Queue))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"message", m.ID},
		{"type", m.Type},
		{"from", m.AppID},
		{"booking", l.Key},
		{"trace", l.TraceID},
		{"parked", parked},
		{"attempts", strconv.Itoa(l.Attempts)},
		{"reason", l.Reason},
	} {
		name := line[0]
		for text := range strings.Lines(line[1]) { // a reason may have several
			fmt.Fprintf(w, "  %s\t%s\n", name, plain.Line(strings.TrimRight(text, "\r\n")))
			name = ""
		}
	}
	fmt.Fprintln(w, "  headers\t")
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		fmt.Fprintf(w, "    %s\t%s\n", plain.Line(name), headerText(m.Headers[name]))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	kind := m.ContentType
	if kind == "" {
		kind = "no content type"
	}
	fmt.Fprintf(out, "  body, %d bytes, %s\n", len(m.Body), plain.Line(kind))
	for line := range strings.Lines(bodyText(m.Body)) {
		fmt.Fprintln(out, strings.TrimRight("    "+strings.TrimRight(line, "\n"), " "))
	}
	return nil
}

func headerText(value any) string {
	switch v := value.(type) {
	case string:
		return plain.Line(v)
	case []byte:
		return plain.Line(string(v))
	case time.Time:
		return v.Format(time.RFC3339)
	case []any, map[string]any:
		if text, err := json.Marshal(v); err == nil {
			return plain.Line(string(text))
		}
	}
	return plain.Line(fmt.Sprint(value))
}

// bodyText is JSON with one value a line, text as it is, and else a hex dump.
func bodyText(body []byte) string {
	var pretty bytes.Buffer
	switch {
	case utf8.Valid(body) && json.Indent(&pretty, body, "", "  ") == nil:
		body = pretty.Bytes()
	case !utf8.Valid(body) || bytes.ContainsFunc(body, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' }):
		const most = 4096
		dump := hex.Dump(body[:min(len(body), most)])
		if len(body) > most {
			dump += "…\n"
		}
		return dump
	}
	lines := strings.Split(string(body), "\n")
	for i, line := range lines {
		lines[i] = plain.Line(strings.ReplaceAll(strings.TrimRight(line, "\r"), "\t", "    "))
	}
	return strings.Join(lines, "\n")
}
