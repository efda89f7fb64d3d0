package config

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"boxoffice/internal/lab"
	"boxoffice/messaging"
	"boxoffice/tickets"
)

// Log is how a process logs.
type Log struct {
	LogLevel  slog.Level `type:"setting" env:"LOG_LEVEL" default:"info" group:"Logs" help:"debug, info, warn or error."`
	LogFormat LogFormat  `type:"setting" env:"LOG_FORMAT" default:"text" group:"Logs" help:"text or json."`
}

// Connections are what one service talks to when it has a process of its own.
type Connections struct {
	BrokerURL   BrokerURL   `type:"setting" env:"BROKER_URL" placeholder:"URL" need:"amqp://guest:guest@localhost:5672/ (or run all services in one process with: boxoffice up)" help:"The RabbitMQ broker that the services share, as amqp:// or amqps://."`
	DatabaseURL DatabaseURL `type:"setting" env:"DATABASE_URL" placeholder:"URL" need:"postgres://user:password@localhost/name or sqlite:service.db" help:"This service's own database, as postgres:// or sqlite:FILE."`
}

// Check says what a service in a process of its own cannot work with.
func (c Connections) Check() error {
	if c.BrokerURL.InProcess() {
		return errors.New("BROKER_URL=\"inproc:\" is a broker inside one process, where no other service would hear this one; use for example amqp://guest:guest@localhost:5672/, or run all services with: boxoffice up")
	}
	return nil
}

// Service is what every service has.
type Service struct {
	Instance     Instance               `type:"setting" env:"INSTANCE" placeholder:"NAME" help:"The name of this replica (default: the host's name)."`
	RetryDelays  []time.Duration        `type:"setting" env:"RETRY_DELAYS" default:"1s,5s,30s" example:"1s,5s,30s" help:"How long a failed message waits before each further attempt."`
	HoldLimit    time.Duration          `type:"setting" env:"HOLD_LIMIT" default:"15m" example:"15m" min:"1s" help:"How long a delivery is held while its service cannot work, its handling included; then it waits in a queue. At most half of RabbitMQ's consumer_timeout (30 min by default)."`
	Topology     messaging.TopologyMode `type:"setting" env:"TOPOLOGY" default:"declare" help:"declare makes the queues that are missing; check makes none and waits until all are there, for a broker user without the right to make them."`
	Lab          *Lab                   `type:"setting" env:"LAB" placeholder:"on|off" help:"on allows faults to be injected, and /lab (default: off, and on for up)."`
	AllowedHosts AllowedHosts           `type:"setting" env:"ALLOWED_HOSTS" placeholder:"NAME,…" help:"With LAB=on: more host names under which clients may ask, beside IP addresses, names without a dot and *.localhost."`
	Unsafe       lab.Unsafe             `type:"setting" env:"UNSAFE" placeholder:"SAFETY" help:"Turns one safety off, to see what it is for; needs LAB=on: no-confirm, ack-first, no-tombstone, no-owner-check or requeue-now."`
	Prefetch     int                    `type:"setting" env:"PREFETCH" default:"256" min:"1" max:"10000" hidden:"" help:"Deliveries of one queue at a time."`
}

// LabOn is whether faults may be injected, or else what the command defaults to.
func (s Service) LabOn(byDefault bool) bool {
	if s.Lab == nil {
		return byDefault
	}
	return bool(*s.Lab)
}

// CheckUnsafe says whether a safety is off where nobody experiments.
func (s Service) CheckUnsafe(labByDefault bool) error {
	if s.Unsafe != "" && !s.LabOn(labByDefault) {
		return fmt.Errorf("UNSAFE=%q breaks bookings on purpose: it needs LAB=on", s.Unsafe)
	}
	return nil
}

// Booking are the booking service's own settings.
type Booking struct {
	BookingAddr      Address       `type:"setting" env:"BOOKING_ADDR" default:":5200" group:"Booking" help:"Where booking listens."`
	AdmissionActive  int           `type:"setting" env:"ADMISSION_ACTIVE" default:"64" min:"1" max:"100000" group:"Booking" help:"Sagas at a time."`
	AdmissionWaiting int           `type:"setting" env:"ADMISSION_WAITING" default:"256" min:"0" max:"1000000" group:"Booking" help:"Accepted bookings that may wait for their saga."`
	AdmissionOverdue *int          `type:"setting" env:"ADMISSION_OVERDUE" placeholder:"N" min:"0" max:"1000000" group:"Booking" help:"Bookings past their deadline that give their place back (default: ADMISSION_ACTIVE)."`
	StallAfter       time.Duration `type:"setting" env:"STALL_AFTER" default:"10s" example:"10s" min:"1ms" group:"Booking" help:"A full door at which nothing has finished for so long says 503, not 429."`
	SagaDeadline     time.Duration `type:"setting" env:"SAGA_DEADLINE" default:"60s" example:"60s" min:"1ms" group:"Booking" help:"An unfinished booking is published again after it; more than the sum of RETRY_DELAYS."`
	RedriveLimit     int           `type:"setting" env:"REDRIVE_LIMIT" default:"5" min:"0" max:"1000" group:"Booking" help:"How often it is published again before it counts as stalled."`
}

// Overdue is AdmissionOverdue, or what it defaults to.
func (b Booking) Overdue() int {
	if b.AdmissionOverdue == nil {
		return b.AdmissionActive
	}
	return *b.AdmissionOverdue
}

// CheckDeadline says whether a message may still be waiting for its last
// attempt when its booking is published again.
func (b Booking) CheckDeadline(s Service) error {
	var sum time.Duration
	for _, d := range s.RetryDelays {
		sum += d
	}
	if b.SagaDeadline <= sum {
		return fmt.Errorf("SAGA_DEADLINE=%q must be more than %s, the sum of RETRY_DELAYS", b.SagaDeadline, sum)
	}
	return nil
}

// Seats are the seats service's own settings.
type Seats struct {
	SeatsAddr  Address `type:"setting" env:"SEATS_ADDR" default:":5201" group:"Seats" help:"Where seats listens."`
	SeatsTotal int     `type:"setting" env:"SEATS_TOTAL" default:"10" min:"1" max:"1000000" group:"Seats" help:"How many seats the hall has, numbered from 1."`
}

// Payments are the payments service's own settings.
type Payments struct {
	PaymentsAddr    Address        `type:"setting" env:"PAYMENTS_ADDR" default:":5202" group:"Payments" help:"Where payments listens."`
	CardLimit       tickets.Amount `type:"setting" env:"CARD_LIMIT" default:"1000" group:"Payments" help:"The bank declines any amount above it."`
	BankDelay       time.Duration  `type:"setting" env:"BANK_DELAY" default:"200ms" example:"200ms" min:"0s" group:"Payments" help:"How long the bank takes for a charge."`
	BankConcurrency int            `type:"setting" env:"BANK_CONCURRENCY" default:"16" min:"1" max:"10000" group:"Payments" help:"Charges at a time."`
}
