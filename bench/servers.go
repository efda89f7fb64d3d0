package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"boxoffice/internal/testserver"
)

// servers are the private servers of one run.
type servers struct {
	rabbit   *testserver.Rabbit
	postgres *testserver.Postgres
}

// startTimeout bounds the start, which may have to fetch images.
const startTimeout = 5 * time.Minute

func startServers(ctx context.Context) (*servers, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	fmt.Fprintln(os.Stderr, "starting RabbitMQ and PostgreSQL")
	rabbit, err := testserver.StartRabbitMQ(ctx, "")
	if err != nil {
		return nil, err
	}
	postgres, err := testserver.StartPostgres(ctx, "")
	if err != nil {
		return nil, errors.Join(err, rabbit.Close()) //nolint:contextcheck // it ends whatever ctx says
	}
	return &servers{rabbit: rabbit, postgres: postgres}, nil
}

func (s *servers) close() error { return errors.Join(s.postgres.Close(), s.rabbit.Close()) }
