package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	neturl "net/url"
	"slices"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging/internal/streak"
)

// link keeps one connection to the broker up, for ever.
type link struct {
	url, name string
	opts      Options
	log       *slog.Logger
	state     watched[linkState]
	failing   streak.Streak

	cancel context.CancelFunc // ends run
	done   chan struct{}      // run has returned
}

// linkState is a connection, or why there is none.
type linkState struct {
	conn *connection
	err  error
}

func newLink(url, role string, opts Options) *link {
	l := &link{url: url, name: opts.Name + " " + role, opts: opts, done: make(chan struct{})}
	l.log = opts.Logger.With("broker", redacted(url), "connection", l.name)
	l.state.set(linkState{err: streak.At(errors.New("no answer yet"), time.Now())})
	return l
}

func (l *link) start(tasks *sync.WaitGroup) {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	tasks.Go(func() {
		defer close(l.done)
		l.run(ctx)
	})
}

// redacted is what a log may show of a broker's URL: neither the password nor
// the query.
func redacted(url string) string {
	u, err := neturl.Parse(url)
	if err != nil {
		return "?"
	}
	u.RawQuery, u.ForceQuery = "", false
	return u.Redacted()
}

func (l *link) run(ctx context.Context) {
	for retry := l.opts.newBackoff(); ctx.Err() == nil; {
		passed := l.opts.Gate.next() // from before the try: a success beside it is not to be missed
		conn, err := dial(ctx, l.url, l.name, l.opts)
		if err == nil {
			retry.Reset()
			l.connected(ctx)
			err = l.hold(ctx, conn)
			passed = l.opts.Gate.next()
		}
		if ctx.Err() != nil {
			return
		}
		wait := retry.NextBackOff()
		if r, say := l.failing.Failed(err); say {
			l.log.WarnContext(ctx, "no connection to the broker; trying again", "error", err, "tries", r.Tries, "lasts", r.Lasted(), "in", wait.Round(time.Millisecond))
		}
		l.state.set(linkState{err: l.failing.Err()})
		if rest(ctx, wait, passed) {
			retry.Reset()
		}
	}
}

// connected tells the log, and those who wait for the same server.
func (l *link) connected(ctx context.Context) {
	if r, ended := l.failing.Worked(); ended {
		l.log.InfoContext(ctx, "connected to the broker again", "tries", r.Tries, "after", r.Lasted())
	} else {
		l.log.InfoContext(ctx, "connected to the broker")
	}
	l.opts.Gate.pass()
}

// hold hands out a connection until it ends.
func (l *link) hold(ctx context.Context, conn *connection) error {
	l.state.set(linkState{conn: conn})
	if ctx.Err() != nil { // close may have looked before the connection was there
		conn.cut()
	}
	if err := conn.watch(); err != nil {
		return fmt.Errorf("connection lost: %w", err)
	}
	return errors.New("connection closed")
}

// up is the connection, once there is one.
func (l *link) up(ctx context.Context) (*connection, error) {
	for {
		state, changed := l.state.get()
		if state.conn != nil && !state.conn.IsClosed() { // of its end we may know before run does
			return state.conn, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (%w)", ended(ctx), l.problem())
		}
	}
}

// current is the connection, if there is one.
func (l *link) current() []*connection {
	if state, _ := l.state.get(); state.conn != nil {
		return []*connection{state.conn}
	}
	return nil
}

// problem is why nothing can be sent, or nil.
func (l *link) problem() error {
	state, _ := l.state.get()
	if state.conn == nil {
		return fmt.Errorf("the broker is unreachable: %w", state.err)
	}
	if blocked, _ := state.conn.blocked.get(); blocked.Active {
		return streak.At(fmt.Errorf("the broker blocks publishing: %s", blocked.Reason), blocked.since)
	}
	return nil
}

// close ends the connection, in good order if ctx leaves the time.
func (l *link) close(ctx context.Context) {
	l.cancel()
	if state, _ := l.state.get(); state.conn != nil {
		state.conn.close(ctx)
	}
	<-l.done
}

// Refused reports whether err, such as that of [Broker.Ready], says that the
// broker does not let us in: the user, the password or the virtual host is wrong.
// Trying again does not help until someone mends it. A limit on connections
// that is reached is no refusal, for it may pass.
func Refused(err error) bool {
	if errors.Is(err, amqp.ErrCredentials) { // the client's guess: RabbitMQ hangs up without a word
		return true
	}
	e, ok := errors.AsType[*amqp.Error](err)
	return ok && e.Server && (e.Code == amqp.AccessRefused || e.Code == amqp.NotAllowed) && !strings.Contains(e.Reason, "limit (")
}

// refusal is whether err is the broker's answer with one of these codes.
func refusal(err error, codes ...int) bool {
	var e *amqp.Error
	return errors.As(err, &e) && e.Server && slices.Contains(codes, e.Code)
}
