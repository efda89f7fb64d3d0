package messaging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/metric"

	"boxoffice/messaging/internal/streak"
)

// Publisher publishes the events of one service of a system.
type Publisher struct {
	broker    Broker
	system    System
	service   string
	routes    Routes
	tell      Instruments
	tracer    tracer
	published metric.Int64Counter
	byEvent   byEvent
	bared     streak.Streak // copies without headers; it never ends
}

// NewPublisher makes the Publisher of a service. Its error says what is wrong
// with the system.
func NewPublisher(b Broker, s System, service string, i Instruments) (*Publisher, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("the system %s: %w", s.Prefix, err)
	}
	routes, err := s.routesOf(service)
	if err != nil {
		return nil, err
	}
	p := newPublisher(b, s, service, i)
	p.routes = routes
	return p, nil
}

// newPublisher makes a Publisher that only moves what others have published.
func newPublisher(b Broker, s System, service string, i Instruments) *Publisher {
	i = i.withDefaults()
	return &Publisher{
		broker: b, system: s, service: service, tell: i, tracer: newTracer(b, i),
		published: i.counter("published", "Events published and confirmed, by event."), byEvent: newByEvent(s.Events()),
	}
}

// ErrRefused is the error, wrapped, of an event that was not published, because
// no consumer would take it or the service has no route for it. It is a mistake
// of the program: publishing it again does not help.
var ErrRefused = errors.New("the event cannot be published")

// Publish publishes e and returns nil once the broker has stored it in the queue
// of every service that consumes it. After an error it may be stored or not:
// publish it again, unless the error wraps ErrRefused or ErrUnfit. The trace
// context, the baggage and the carried headers of ctx travel with it.
func (p *Publisher) Publish(ctx context.Context, e Event) error {
	name := EventName(e)
	body, err := p.encode(name, e)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, name, err)
	}
	key := e.Key()
	m := Message{
		ID:            key + "." + name,
		Type:          name,
		AppID:         p.service,
		CorrelationID: key,
		ContentType:   "application/json",
		Timestamp:     time.Now(),
		Headers:       p.carried(ctx),
		Body:          body,
	}
	err = p.send(ctx, p.system.EventsExchange(), name, m)
	if errors.Is(err, ErrUnroutable) && slices.Contains(p.routes.Unheard, name) {
		err = nil // nobody has to hear it
	}
	if err != nil {
		return err
	}
	p.byEvent.count(ctx, p.published, name)
	p.tell.logEvent(ctx, "→ "+name, e)
	return nil
}

// encode returns the body of e, or why it must not be published.
func (p *Publisher) encode(name string, e Event) ([]byte, error) {
	if !slices.Contains(p.routes.Publishes, name) {
		return nil, fmt.Errorf("the routes of %s do not have it", p.service)
	}
	body, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return body, check(e, body)
}

// send publishes m under a producer span. It owns m's headers.
func (p *Publisher) send(ctx context.Context, exchange, key string, m Message) error {
	ctx, span := p.tracer.startPublish(ctx, exchange, key, &m)
	defer span.End()
	if err := p.broker.Publish(ctx, exchange, key, m); err != nil {
		err = fmt.Errorf("publish %s %s: %w", exchange, key, err)
		fail(span, err)
		return err
	}
	return nil
}

// sendCopy is send for a copy of a message that is moved. If it cannot be sent
// with the headers that it came with, it is sent without them.
func (p *Publisher) sendCopy(ctx context.Context, exchange, key string, m Message) error {
	bare := m.bare() // before send changes the headers
	err := p.send(ctx, exchange, key, m)
	if !errors.Is(err, ErrUnfit) {
		return err
	}
	if r, say := p.bared.Failed(err); say {
		p.tell.Logger.WarnContext(ctx, "copies are moved without the headers that came with the messages, which cannot be sent",
			"key", key, "message", clip(m.ID, 100), "messages so far", r.Tries, "error", err)
	}
	return p.send(ctx, exchange, key, bare)
}
