package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"boxoffice/messaging"
	"boxoffice/messaging/internal/streak"
)

// publisher keeps one publishing session open and sends every publish through it.
type publisher struct {
	link     *link
	topology *topology
	tasks    *sync.WaitGroup
	closing  <-chan struct{} // closes when nothing may be written any more
	opts     Options
	log      *slog.Logger

	// slots holds one entry for each publish from before it is written until
	// its confirm resolved, waited for or not.
	slots   chan struct{}
	session watched[publishState]
	failing streak.Streak // to open a session, for what the connection is not to blame

	progress atomic.Int64 // in ns, when there was nothing to confirm, or a confirm, or a session began
	outcomes outcomes
	trimmed  streak.Streak // messages whose headers did not fit; it never ends
}

// publishState is a session, or why there is none and since when.
type publishState struct {
	session *publishSession
	err     error
	since   time.Time
}

func newPublisher(b *Broker) *publisher {
	p := &publisher{
		link: b.publishing, topology: &b.topology, tasks: &b.tasks, closing: b.closing.Done(), opts: b.opts, log: b.log,
		slots: make(chan struct{}, b.opts.PublishWindow),
	}
	p.session.set(publishState{err: errors.New("it has not begun yet"), since: time.Now()})
	return p
}

// run opens a session on each connection, and another one when only the
// channel was lost. It ends with ctx and the last session.
func (p *publisher) run(ctx context.Context) {
	for retry := p.opts.newBackoff(); ctx.Err() == nil; {
		conn, err := p.link.up(ctx)
		if err != nil {
			return
		}
		session, err := p.open(ctx, conn)
		if err == nil {
			retry.Reset()
			p.progress.Store(time.Now().UnixNano())
			p.session.set(publishState{session: session})
			err = session.serve()
			if refusal(err, amqp.NotFound) {
				conn.incomplete.Store(true)
			}
		}
		if ctx.Err() != nil {
			return
		}
		err = conn.blame(err)
		p.interrupted(err)
		if errors.Is(err, errNoConnection) { // the link says that, and up waits for the next
			retry.Reset()
			continue
		}
		if r, say := p.failing.Failed(err); say {
			p.log.WarnContext(ctx, "publishing is interrupted", "error", err, "tries", r.Tries, "lasts", r.Lasted())
		}
		sleep(ctx, retry.NextBackOff())
	}
}

func (p *publisher) interrupted(err error) {
	before, _ := p.session.get()
	state := publishState{err: err, since: before.since}
	if before.session != nil {
		state.since = time.Now()
	}
	p.session.set(state)
}

func (p *publisher) open(ctx context.Context, conn *connection) (*publishSession, error) {
	if err := p.topology.ensure(ctx, p.tasks, conn); err != nil {
		return nil, err
	}
	return await(ctx, p.tasks, func() (*publishSession, error) {
		return newPublishSession(conn, cap(p.slots))
	}, func(s *publishSession) { conn.closeChannel(s.channel) })
}

// problem is why nothing can be published, or nil.
func (p *publisher) problem() error {
	if err := p.link.problem(); err != nil {
		return err
	}
	if state, _ := p.session.get(); state.session == nil {
		return streak.At(fmt.Errorf("publishing is interrupted: %w", state.err), state.since)
	}
	since := time.Unix(0, p.progress.Load())
	if n := len(p.slots); n > 0 && time.Since(since) > p.opts.Patience {
		return streak.At(fmt.Errorf("the broker confirms nothing: %d publishes wait", n), since)
	}
	return nil
}

// publish sends one message and waits for its confirm.
func (p *publisher) publish(ctx context.Context, out *outgoing) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(p.slots) == 0 {
		p.progress.Store(time.Now().UnixNano())
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w (waiting for earlier confirms)", ctx.Err())
	case <-p.closing:
		return messaging.ErrClosed
	}
	release := func() { <-p.slots }
	defer func() { release() }()
	for {
		session, err := p.ready(ctx)
		if err != nil {
			return err
		}
		if err := p.fit(ctx, out, session.conn); err != nil {
			return err
		}
		a := &attempt{exchange: out.exchange, key: out.key, message: out.message, written: make(chan struct{})}
		select {
		case session.attempts <- a:
		case <-session.lost:
			continue
		case <-ctx.Done():
			return p.gaveUp(ctx)
		case <-p.closing:
			return messaging.ErrClosed
		}
		err = session.wait(ctx.Done(), a)
		switch {
		case errors.Is(err, errNotWritten):
			continue
		case errors.Is(err, errGaveUp):
			// The slot stays taken until the broker has spoken: it is what bounds
			// the confirms, and the returns, that may be outstanding.
			slot := release
			release = func() {}
			p.tasks.Go(func() {
				p.ended(ctx, a, session.wait(nil, a)) // there is no one else left to tell
				slot()
			})
			return p.gaveUp(ctx)
		}
		p.ended(ctx, a, err)
		return err
	}
}

// fit leaves out what only tracing needs if the message is too large for a
// frame of the connection, which would end it for everybody.
func (p *publisher) fit(ctx context.Context, out *outgoing, conn *connection) error {
	most := conn.maxHeader()
	if out.header <= most {
		return nil
	}
	dropped, err := out.fit(most)
	if err != nil {
		return err
	}
	if r, say := p.trimmed.Failed(messaging.ErrUnfit); say {
		p.log.WarnContext(ctx, "headers that only tracing needs are left out: they do not fit into a frame of the connection",
			"key", out.key, "message", out.message.MessageId, "left out", dropped, "frame", conn.Config.FrameSize, "messages so far", r.Tries)
	}
	return nil
}

// ready is the session, once there is one that is not blocked. The broker would
// not read what is written to a blocked one.
func (p *publisher) ready(ctx context.Context) (*publishSession, error) {
	for {
		state, changed := p.session.get()
		var lost <-chan struct{}
		if state.session != nil {
			var blocked blocking
			blocked, changed = state.session.conn.blocked.get()
			if !blocked.Active {
				return state.session, nil
			}
			lost = state.session.lost
		}
		select {
		case <-changed:
		case <-lost:
		case <-ctx.Done():
			return nil, p.gaveUp(ctx)
		case <-p.closing:
			return nil, messaging.ErrClosed
		}
	}
}

// gaveUp is the error of a publish whose context ended.
func (p *publisher) gaveUp(ctx context.Context) error {
	if err := p.problem(); err != nil {
		return fmt.Errorf("%w (%w)", ctx.Err(), err)
	}
	return fmt.Errorf("%w (waiting for the broker's confirm)", ctx.Err())
}

// drain waits until every confirm has resolved, and says how many have not when
// ctx ends. Nothing may publish any more.
func (p *publisher) drain(ctx context.Context) int {
	for taken := range cap(p.slots) {
		select {
		case p.slots <- struct{}{}:
			continue
		default:
		}
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return cap(p.slots) - taken
		}
	}
	return 0
}
