package database

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// maxPostgresConns is per pool, one pool per service: group commit needs
	// few connections, and three services with several replicas must fit into
	// a server's default limit of 100.
	maxPostgresConns = 16
	connectTimeout   = 5 * time.Second
)

func openPostgres(rawURL string) (*DB, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The parser's text quotes the part it stumbled over, which may be the password.
		return nil, errors.New("not a valid postgres:// URL (special characters in a password must be percent-encoded)")
	}
	cfg, err := pgx.ParseConfig(rawURL)
	if err != nil {
		return nil, fmt.Errorf("not a valid postgres:// URL: %s", err.Error()) // redacted; the error value itself is not
	}
	if !u.Query().Has("connect_timeout") {
		cfg.ConnectTimeout = connectTimeout
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "boxoffice"
	}
	// A generic plan would be made once, while the tables are still empty, and
	// go on scanning them when they have grown. Planning a batch costs little.
	if cfg.RuntimeParams["plan_cache_mode"] == "" {
		cfg.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	}
	// Batches have constant text (see Table), so each is parsed once per connection.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement

	db := stdlib.OpenDB(*cfg)
	db.SetMaxOpenConns(maxPostgresConns)
	db.SetMaxIdleConns(maxPostgresConns) // the default of 2 would reconnect under load
	db.SetConnMaxIdleTime(5 * time.Minute)
	return newDB(db, PostgreSQL, func() error { return nil }), nil
}
