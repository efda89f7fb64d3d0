package config

import (
	"net/url"
	"slices"
	"strings"
)

// takeApart parses scheme://user:password@host/path?query, and reports whether
// each part is certain. It is not if a password may have ended too early, at a
// character that should have been percent-encoded: then the rest, with its @,
// is in the path, the query or the fragment.
func takeApart(text string) (*url.URL, bool) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, false
	}
	rest, ok := strings.CutPrefix(text, u.Scheme+"://")
	if !ok || u.Opaque != "" || u.Fragment != "" || strings.HasSuffix(text, "#") {
		return nil, false
	}
	if i := strings.IndexAny(rest, "/?"); i >= 0 && strings.Contains(rest[i:], "@") {
		return nil, false
	}
	return u, true
}

// harmless is what may be shown of a URL that is in use: all but the password
// and the query, or no more than what kind it is.
func harmless(text string) string {
	if u, ok := takeApart(text); ok && slices.Contains(schemes(), u.Scheme) {
		u.RawQuery, u.ForceQuery = "", false
		return u.Redacted()
	}
	return kind(text)
}

// kind is what may be shown of a text that should have been a URL: nothing in
// it is certain, so that any part may be the password.
func kind(text string) string {
	if slices.Contains([]string{"inproc:", "sqlite:", "sqlite::memory:"}, text) {
		return text
	}
	scheme, _, found := strings.Cut(text, ":")
	if found && slices.Contains(schemes(), scheme) {
		return scheme + ":…"
	}
	return "…"
}

// schemes are those that nobody has for a password.
func schemes() []string {
	return []string{"amqp", "amqps", "http", "https", "mysql", "postgres", "postgresql", "redis", "sqlite"}
}
