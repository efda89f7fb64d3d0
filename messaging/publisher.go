package messaging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// Publisher publishes the events of one service.
type Publisher struct {
	broker    Broker
	service   string
	log       *slog.Logger
	tracer    tracer
	published metric.Int64Counter
	byEvent   byEvent
}

// NewPublisher makes the Publisher of a service.
func NewPublisher(b Broker, service string, i Instruments) *Publisher {
	i = i.withDefaults()
	published, _ := i.MeterProvider.Meter(scope).Int64Counter("boxoffice.messages.published",
		metric.WithDescription("Events published and confirmed, by event.")) // fails on a bad name only
	return &Publisher{broker: b, service: service, log: i.Logger, tracer: newTracer(b, i), published: published, byEvent: newByEvent()}
}

// Publish publishes e to the events exchange and returns nil once the broker
// has stored it in the queue of every service that consumes it. After an error
// it may be stored or not: publish it again. The trace context and the baggage
// of ctx travel with it.
func (p *Publisher) Publish(ctx context.Context, e Event) error {
	name := EventName(e)
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	key := e.BookingKey()
	m := Message{
		ID:            key + "." + name,
		Type:          name,
		AppID:         p.service,
		CorrelationID: key,
		ContentType:   "application/json",
		Timestamp:     time.Now(),
		Body:          body,
	}
	if err := p.send(ctx, ExchangeEvents, name, m); err != nil {
		return err
	}
	p.byEvent.count(ctx, p.published, name)
	logEvent(ctx, p.log, "→ "+name, e)
	return nil
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
	p.log.WarnContext(ctx, "a copy is moved without the headers that came with the message, which cannot be sent",
		"key", key, "message", clip(m.ID, 100), "error", err)
	return p.send(ctx, exchange, key, bare)
}

// logEvent writes one line of the saga: the event, its booking and its seat.
func logEvent(ctx context.Context, log *slog.Logger, text string, e Event, more ...slog.Attr) {
	if !log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 4), slog.String("booking", e.BookingKey()))
	if seat := seatOf(e); seat != 0 {
		attrs = append(attrs, slog.Int("seat", seat))
	}
	log.LogAttrs(ctx, slog.LevelInfo, text, append(attrs, more...)...)
}
