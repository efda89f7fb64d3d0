package main

import (
	"log/slog"

	"boxoffice/internal/config"
	"boxoffice/internal/participant"
	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
	"boxoffice/messaging/rabbitmq"
	"boxoffice/services/booking"
	"boxoffice/services/payments"
	"boxoffice/services/seats"
	"boxoffice/tickets"
)

// connector gives a service its connection to the broker.
type connector interface {
	connect(service string, log *slog.Logger) (messaging.Broker, error)
}

// brokerAt picks the broker. The services that share one of inproc: share its messages.
func brokerAt(url config.BrokerURL) connector {
	if url.InProcess() {
		return newEmbeddedBroker()
	}
	return rabbitBroker{string(url), rabbitmq.NewGate()}
}

func newEmbeddedBroker() embeddedBroker { return embeddedBroker{inproc.New(inproc.Options{})} }

type embeddedBroker struct{ server *inproc.Server }

func (b embeddedBroker) connect(service string, _ *slog.Logger) (messaging.Broker, error) {
	return b.server.Connect(service), nil
}

// rabbitBroker is one RabbitMQ: what comes back to it first wakes the others.
type rabbitBroker struct {
	url  string
	gate *rabbitmq.Gate
}

// refused reports whether a broker has turned us away, which will not pass by itself.
func refused(err error) bool { return rabbitmq.Refused(err) }

func (b rabbitBroker) connect(service string, log *slog.Logger) (messaging.Broker, error) {
	broker, err := rabbitmq.Open(b.url, rabbitmq.Options{
		Name: "boxoffice " + service, Logger: log, Gate: b.gate, Probe: tickets.System(nil).Probe(service),
	})
	if err != nil {
		return nil, err // not a nil *rabbitmq.Broker, which is not a nil messaging.Broker
	}
	return broker, nil
}

// brokerDefinitions is what RabbitMQ is to load when it boots.
func brokerDefinitions(s messaging.System, p brokerPasswords) ([]byte, error) {
	return rabbitmq.Definitions(s, map[string]string{
		tickets.Booking: p.booking, tickets.Seats: p.seats, tickets.Payments: p.payments,
		rabbitmq.Observer: p.observer, rabbitmq.Admin: p.admin,
	})
}

// builder makes a service of its settings and of what it needs.
type builder interface {
	build(s participant.Settings, d participant.Deps) service
}

type (
	bookingBuilder  config.Booking
	seatsBuilder    config.Seats
	paymentsBuilder config.Payments
)

func (b bookingBuilder) build(s participant.Settings, d participant.Deps) service {
	c := config.Booking(b)
	return booking.New(booking.Config{
		Settings:     s,
		Limits:       booking.Limits{Active: c.AdmissionActive, Waiting: c.AdmissionWaiting, Overdue: c.Overdue()},
		SagaDeadline: c.SagaDeadline,
		RedriveLimit: c.RedriveLimit,
		StallAfter:   c.StallAfter,
	}, d)
}

func (b seatsBuilder) build(s participant.Settings, d participant.Deps) service {
	return seats.New(seats.Config{Settings: s, Total: b.SeatsTotal}, d)
}

func (b paymentsBuilder) build(s participant.Settings, d participant.Deps) service {
	return payments.New(payments.Config{Settings: s, Bank: payments.Bank{
		Limit: b.CardLimit, Delay: b.BankDelay, Concurrency: b.BankConcurrency,
	}}, d)
}
