package config

import (
	"errors"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// LogFormat is text or json.
type LogFormat string

// Lab is whether faults may be injected.
type Lab bool

// Instance is the name of a replica.
type Instance string

// Name is the instance, or else the host's name.
func (i Instance) Name() string {
	if i != "" {
		return string(i)
	}
	if host, err := os.Hostname(); err == nil && host != "" {
		return host
	}
	return "boxoffice"
}

// AllowedHosts are names of hosts.
type AllowedHosts []string

func parseAllowedHosts(text string) (AllowedHosts, error) {
	var hosts AllowedHosts
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !hostName.MatchString(name) {
			return nil, errors.New("is not a list of host names, without scheme, port or *; use for example tickets.example.org,box.local")
		}
		hosts = append(hosts, name)
	}
	return hosts, nil
}

// hostName is a name as DNS may have it, or an IPv4 address.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?\.?$`)

// Address is where a service listens: host:port, or :port on every interface.
type Address string

// Local is the address, on the loopback interface if it names none.
func (a Address) Local() string {
	if strings.HasPrefix(string(a), ":") {
		return "127.0.0.1" + string(a)
	}
	return string(a)
}

func parseAddress(text string) (Address, error) {
	host, port, err := net.SplitHostPort(text)
	_, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || strings.ContainsAny(host, " /@") {
		return "", errors.New("is not an address; use for example :5200 or 127.0.0.1:5200")
	}
	return Address(text), nil
}

// BrokerURL is where the broker is. It prints without its password.
type BrokerURL string

// InProcess reports whether the broker lives in this process.
func (u BrokerURL) InProcess() bool { return u == "inproc:" }

func (u BrokerURL) String() string { return harmless(string(u)) }

func parseBrokerURL(text string) (BrokerURL, error) {
	if text == "inproc:" {
		return BrokerURL(text), nil
	}
	u, ok := takeApart(text)
	if !ok || u.Hostname() == "" || u.Scheme != "amqp" && u.Scheme != "amqps" {
		return "", errors.New("is not a broker; use for example amqp://guest:guest@localhost:5672/ (in a password @ is %40)")
	}
	return BrokerURL(text), nil
}

// DatabaseURL is where a service keeps its state. It prints without its password.
type DatabaseURL string

func (u DatabaseURL) String() string { return harmless(string(u)) }

// Temporary is whether it is a file that is gone with the process.
func (u DatabaseURL) Temporary() bool { return u == "sqlite:" }

func parseDatabaseURL(text string) (DatabaseURL, error) {
	wrong := errors.New("is not a database; use for example postgres://user:password@localhost/name or sqlite:service.db (in a password or a setting @ is %40)")
	if file, ok := strings.CutPrefix(text, "sqlite:"); ok {
		if file == ":memory:" {
			return "", errors.New("would be a database of each connection's own; use sqlite: for a temporary one")
		}
		if strings.HasPrefix(file, "//") && !strings.HasPrefix(file, "///") {
			return "", wrong // a host, perhaps with a user and password
		}
		return DatabaseURL(text), nil
	}
	u, ok := takeApart(text)
	if !ok || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Host == "" && u.Query().Get("host") == "" {
		return "", wrong
	}
	return DatabaseURL(text), nil
}
