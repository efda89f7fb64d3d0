package plain_test

import (
	"testing"

	"boxoffice/internal/plain"
)

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"localhost:5200": "localhost:5200", "nowhere": "nowhere", "ftp://h:1/": "ftp://h:1/",
		"http:/u:hunter2@h": "…", "http:u:hunter2@h": "…", "u:hunter2": "…", "http://u:hunter2@h:x": "…", "password=hunter2": "…", "": "…",
	} {
		if got := plain.Address(text); got != want {
			t.Errorf("Address(%q) = %q, want %q", text, got, want)
		}
	}
}
