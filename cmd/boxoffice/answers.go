package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"boxoffice/internal/client"
	"boxoffice/tickets"
)

// answerLimit is how long a service may take to say who it is.
const answerLimit = 10 * time.Second

// allAnswer asks all of them at once, and names each that is away, or that is another.
func allAnswer(ctx context.Context, parts ...part) error {
	errs := make([]error, len(parts))
	var asking sync.WaitGroup
	for i, p := range parts {
		asking.Go(func() { errs[i] = p.answers(ctx) })
	}
	asking.Wait()
	return errors.Join(errs...)
}

// answers asks for what only this service knows.
func (p part) answers(ctx context.Context) error {
	path, field, query := "stats", "accepting", url.Values(nil)
	switch p.name {
	case tickets.Seats:
		path, field, query = "seats", "held", url.Values{"limit": {"1"}}
	case tickets.Payments:
		path, field, query = "payments", "payments", url.Values{"limit": {"1"}}
	}
	ctx, cancel := p.soon(ctx)
	defer cancel()
	var answer map[string]json.RawMessage
	err := p.Ask(ctx, path, query, &answer)
	if _, ours := answer[field]; err == nil && !ours {
		err = p.Stranger("GET /" + path + ": no " + field)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, startFirst(err))
	}
	return nil
}

// soon ends when the service should have answered: one that hangs is as good as away.
func (p part) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	silent := fmt.Errorf("%s %w: no answer within %s", p.Client, client.ErrUnreachable, answerLimit)
	return context.WithTimeoutCause(ctx, answerLimit, silent)
}

// get is Get of a service that should answer soon.
func (p part) get(ctx context.Context, path string, v any) error {
	ctx, cancel := p.soon(ctx)
	defer cancel()
	return p.Get(ctx, path, v)
}

// startFirst says what to do about a service that is not there.
func startFirst(err error) error {
	switch {
	case !errors.Is(err, client.ErrUnreachable):
		return err
	case onThisMachine(err):
		return fmt.Errorf("%w; start the services with: boxoffice up", err)
	}
	return fmt.Errorf("%w; is it running, and is that its address?", err)
}

// onThisMachine is whether err is of a connection to a loopback address.
func onThisMachine(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	if !ok {
		return false
	}
	address, ok := failed.Addr.(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

// urlFlag is the flag for another command about the same services, where the
// environment does not say it.
func urlFlag(url string) string {
	if url == cmp.Or(os.Getenv("BOOKING_URL"), upURL) {
		return ""
	}
	return " --url " + url
}

// oneLine is an error of several lines as one.
func oneLine(err error) string {
	line := ""
	for next := range strings.Lines(err.Error()) {
		next = strings.Join(strings.Fields(next), " ")
		switch {
		case line == "" || next == "":
			line += next
		case strings.HasSuffix(line, ":"):
			line += " " + next
		default:
			line += "; " + next
		}
	}
	return line
}
