package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"boxoffice/internal/client"
)

// healthCmd asks a service whether it is ready, for health checks of containers.
type healthCmd struct {
	URL     string        `arg:"" help:"The service, such as http://127.0.0.1:5200; a path other than /ready may follow."`
	Timeout time.Duration `default:"3s" help:"How long to wait for the answer."`
}

// Help shows examples.
func (*healthCmd) Help() string {
	return `It exits with 0 if the answer is good, else with 1.

Examples:

  boxoffice health http://127.0.0.1:5200
  boxoffice health http://127.0.0.1:5201/live --timeout 1s`
}

// Run asks once.
func (h *healthCmd) Run(ctx context.Context, c console) error {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	service, err := client.New(h.URL, client.Of("boxoffice"))
	if err != nil {
		return err
	}
	defer service.Close()
	status, err := service.Health(ctx)
	if err != nil {
		return errors.New(oneLine(err)) // as the logs of containers want it
	}
	fmt.Fprintln(c.out, status)
	return nil
}
