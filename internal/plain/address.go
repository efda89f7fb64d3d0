package plain

import "regexp"

// Address is text that should have been the URL of a service, as a message may
// show it: if it is a host, with or without a scheme and a port. Of anything
// else any part may be a password.
func Address(text string) string {
	if regexp.MustCompile(`^([a-z]{1,10}://?)?[A-Za-z0-9.-]+(:[0-9]{1,5})?/?$`).MatchString(text) {
		return text
	}
	return "…"
}
