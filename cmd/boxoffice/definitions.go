package main

import (
	"fmt"
	"time"

	"boxoffice/tickets"
)

// definitionsCmd prints what RabbitMQ is to load when it boots.
type definitionsCmd struct {
	RetryDelays []time.Duration `type:"setting" env:"RETRY_DELAYS" default:"1s,5s,30s" example:"1s,5s,30s" help:"As the services have it: there is a queue for each delay."`

	BookingBrokerPassword  string `env:"BOOKING_BROKER_PASSWORD" default:"booking-lab" placeholder:"P" help:"Password of the broker's user booking."`
	SeatsBrokerPassword    string `env:"SEATS_BROKER_PASSWORD" default:"seats-lab" placeholder:"P" help:"Password of the broker's user seats."`
	PaymentsBrokerPassword string `env:"PAYMENTS_BROKER_PASSWORD" default:"payments-lab" placeholder:"P" help:"Password of the broker's user payments."`
	ObserverBrokerPassword string `env:"OBSERVER_BROKER_PASSWORD" default:"observer-lab" placeholder:"P" help:"Password of the broker's user observer, for live views."`
	AdminBrokerPassword    string `env:"ADMIN_BROKER_PASSWORD" default:"admin-lab" placeholder:"P" help:"Password of the broker's user admin, for people and their tools."`
}

// Help shows examples.
func (*definitionsCmd) Help() string {
	return `With them loaded, the services need no right to declare anything: TOPOLOGY=check. Each user may send
and read only what its part in the saga needs. Passwords are in it as hashes only.

Examples:

  boxoffice definitions > deploy/rabbitmq/definitions.json
  RETRY_DELAYS=2s,10s ADMIN_BROKER_PASSWORD=secret boxoffice definitions > definitions.json`
}

// Run prints them.
func (d *definitionsCmd) Run(c console) error {
	text, err := brokerDefinitions(tickets.System(d.RetryDelays), brokerPasswords{
		booking: d.BookingBrokerPassword, seats: d.SeatsBrokerPassword, payments: d.PaymentsBrokerPassword,
		observer: d.ObserverBrokerPassword, admin: d.AdminBrokerPassword,
	})
	if err != nil {
		return err
	}
	if _, err := c.out.Write(text); err != nil {
		return fmt.Errorf("write the definitions: %w", err)
	}
	return nil
}

// brokerPasswords are the passwords of the broker's users.
type brokerPasswords struct{ booking, seats, payments, observer, admin string }
