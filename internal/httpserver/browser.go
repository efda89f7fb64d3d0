package httpserver

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/plain"
)

// sameOrigin refuses what a page of another origin makes a browser send, unless
// the method is a safe one. Who is no browser is not concerned.
func sameOrigin() echo.MiddlewareFunc {
	protection := http.NewCrossOriginProtection()
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if err := protection.Check(c.Request()); err != nil {
				return &Problem{
					Type: TypeCrossOrigin, Title: "Cross-origin request", Status: http.StatusForbidden,
					Detail: "A page of another origin may not change anything here. Use curl, the boxoffice command, or a page that this service itself serves.",
				}
			}
			return next(c)
		}
	}
}

// onlyOurHosts refuses a Host that may be a stranger's: a page whose own name
// was made to point here is of the same origin, and could do anything. Such a
// name has a dot.
func onlyOurHosts(allowed []string) echo.MiddlewareFunc {
	ours := make(map[string]bool, len(allowed))
	for _, a := range allowed {
		ours[hostname(a)] = true
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			host := hostname(c.Request().Host)
			if harmless(host) || ours[host] {
				return next(c)
			}
			name := plain.Short(host, 100)
			return &Problem{
				Type: TypeHost, Title: "Host not allowed", Status: http.StatusForbidden,
				Detail: fmt.Sprintf("With LAB=on this service answers only to an IP address, a name without a dot, *.localhost and the names in ALLOWED_HOSTS, and %q is none of them. "+
					"Use its IP address, or start it with ALLOWED_HOSTS=%s if that name is yours.", name, name),
			}
		}
	}
}

// hostname is a Host without its port and in the one way in which names are
// compared. Of an IPv6 address it takes the brackets and the zone off.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inner, "]")
	}
	if strings.Contains(host, ":") {
		host, _, _ = strings.Cut(host, "%")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// harmless reports whether no page can come from a host, but for those that are
// here already. A client that sends none, as of HTTP/1.0, is no browser.
func harmless(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return !strings.ContainsAny(host, ".:") || strings.HasSuffix(host, ".localhost")
}
