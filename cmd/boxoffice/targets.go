package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"boxoffice/internal/client"
	"boxoffice/internal/plain"
	"boxoffice/internal/verify"
	"boxoffice/tickets"
)

// bookingURL is where the booking service answers.
type bookingURL struct {
	URL string `name:"url" placeholder:"URL" help:"The booking service (default: $BOOKING_URL, or http://127.0.0.1:5200)."`
}

// AfterApply takes from the environment what was not given.
func (b *bookingURL) AfterApply() error { //nolint:unparam // kong wants an error
	b.URL = cmp.Or(b.URL, os.Getenv("BOOKING_URL"), upURL)
	return nil
}

// targets are where the three services answer.
type targets struct {
	URL         string `name:"url" placeholder:"URL" help:"The booking service (default: $BOOKING_URL, or http://127.0.0.1:5200)."`
	SeatsURL    string `name:"seats-url" placeholder:"URL" help:"The seats service (default: $SEATS_URL, unless --url is given, or port 5201 of the same host)."`
	PaymentsURL string `name:"payments-url" placeholder:"URL" help:"The payments service (default: $PAYMENTS_URL, unless --url is given, or port 5202 of the same host)."`
}

// AfterApply takes what was not given from the environment.
func (t *targets) AfterApply() error { //nolint:unparam // kong wants an error
	t.fromEnvironment()
	t.URL = cmp.Or(t.URL, upURL)
	return nil
}

// fromEnvironment takes the three URLs from there, unless --url names another
// stack, to which the variables' seats and payments do not belong.
func (t *targets) fromEnvironment() {
	if t.URL == "" {
		t.URL = os.Getenv("BOOKING_URL")
		t.SeatsURL = cmp.Or(t.SeatsURL, os.Getenv("SEATS_URL"))
		t.PaymentsURL = cmp.Or(t.PaymentsURL, os.Getenv("PAYMENTS_URL"))
	}
}

// Check says what is missing.
func (t *targets) Check() error {
	_, err := t.find()
	return err
}

// find fills in what was not given. Ports are guessed only beside the booking
// service's usual one: with another, what answers there may belong to others.
func (t *targets) find() (verify.Targets, error) {
	found, err := t.some()
	if err == nil && (found.Seats == "" || found.Payments == "") {
		return verify.Targets{}, fmt.Errorf("%s has not the usual port 5200: say --seats-url and --payments-url too", found.Booking)
	}
	return found, err
}

// some is find, and leaves out what cannot be guessed.
func (t *targets) some() (verify.Targets, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Host == "" {
		return verify.Targets{}, fmt.Errorf("%q is not the URL of a service; use for example http://127.0.0.1:5200", plain.Address(t.URL))
	}
	at := func(given, port string) string {
		if given == "" && u.Port() == "5200" {
			given = u.Scheme + "://" + net.JoinHostPort(u.Hostname(), port)
		}
		return strings.TrimRight(given, "/")
	}
	return verify.Targets{Booking: at(t.URL, "5200"), Seats: at(t.SeatsURL, "5201"), Payments: at(t.PaymentsURL, "5202")}, nil
}

// part is a client of one of the services.
type part struct {
	name string
	*client.Client
}

// Close closes the idle connections, if the service is known.
func (p part) Close() {
	if p.Client != nil {
		p.Client.Close()
	}
}

// connect makes a client of each service that is known; the others have none. Close them.
func connect(t verify.Targets) (booking, seats, payments part, err error) {
	var errs []error
	to := func(name, url string) part {
		if url == "" {
			return part{name: name}
		}
		c, err := client.New(url, client.Of(name))
		errs = append(errs, err)
		return part{name, c}
	}
	booking, seats, payments = to(tickets.Booking, t.Booking), to(tickets.Seats, t.Seats), to(tickets.Payments, t.Payments)
	return booking, seats, payments, errors.Join(errs...)
}
