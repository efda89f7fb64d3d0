package database

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
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
	// maxConnAge bounds what an error did not end: a connection that still
	// reads from a server which is no longer the one to write to.
	maxConnAge = 5 * time.Minute
)

func openPostgres(rawURL string) (*DB, error) {
	cfg, query, err := parsePostgres(rawURL)
	if err != nil {
		return nil, err
	}
	if !query.Has("connect_timeout") && os.Getenv("PGCONNECT_TIMEOUT") == "" {
		cfg.ConnectTimeout = connectTimeout
	}
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "boxoffice"
	}
	// No named statements: those that a connection has prepared are not there on
	// the next one that PgBouncer picks, and a generic plan, made once while the
	// tables are still empty, would go on scanning them when they have grown. To
	// parse and plan a batch anew costs little.
	if !query.Has("default_query_exec_mode") {
		cfg.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	s := &sessions{}
	s.watch(cfg)
	db := stdlib.OpenDB(*cfg, stdlib.OptionAfterConnect(s.opened), stdlib.OptionResetSession(s.reused))
	db.SetMaxOpenConns(maxPostgresConns)
	db.SetMaxIdleConns(maxPostgresConns) // the default of 2 would reconnect under load
	db.SetConnMaxIdleTime(maxConnAge)
	db.SetConnMaxLifetime(maxConnAge)
	d := newDB(db, PostgreSQL, func() error { return nil })
	d.distrust = s.distrust
	return d, nil
}

// fussy are the settings of a URL that may have a value which pgx refuses.
var fussy = []string{ //nolint:gochecknoglobals // a constant
	"channel_binding", "connect_timeout", "default_query_exec_mode", "description_cache_capacity", "max_protocol_version",
	"min_protocol_version", "port", "require_auth", "service", "sslcert", "sslcertmode", "sslkey", "sslmode",
	"sslnegotiation", "sslpassword", "sslrootcert", "statement_cache_capacity", "target_session_attrs",
}

// parsePostgres takes a URL apart. Its errors quote nothing of it: the texts of
// the parsers have the part that they stumbled over, which may be the password.
func parsePostgres(rawURL string) (*pgx.ConnConfig, url.Values, error) {
	u, err := url.Parse(rawURL)
	if err != nil || !strings.HasPrefix(rawURL, u.Scheme+"://") {
		return nil, nil, errors.New("not a valid postgres:// URL (special characters in a password must be percent-encoded)")
	}
	cfg, err := pgx.ParseConfig(rawURL)
	if err == nil {
		return cfg, u.Query(), nil
	}
	for query := u.Query(); ; {
		// Without the setting that is wrong the rest is right.
		i := slices.IndexFunc(fussy, query.Has)
		if i < 0 {
			return nil, nil, errors.New("not a valid postgres:// URL (special characters must be percent-encoded)")
		}
		query.Del(fussy[i])
		u.RawQuery = query.Encode()
		if _, err := pgx.ParseConfig(u.String()); err == nil {
			return nil, nil, fmt.Errorf("not a valid postgres:// URL: %s has a value that it cannot have", fussy[i])
		}
	}
}
