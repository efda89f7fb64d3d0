package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The file that docker-compose.yml has RabbitMQ load is what this code needs.
func TestDefinitionsFileIsCurrent(t *testing.T) {
	t.Parallel()
	const file = "../../deploy/rabbitmq/definitions.json"
	code, out, err := boxoffice(t, nil, "definitions")
	if code != 0 || err != "" || out != readFile(t, file) {
		t.Errorf("exit %d %s\n%s is out of date; run: go run ./cmd/boxoffice definitions > deploy/rabbitmq/definitions.json", code, err, file)
	}
}

func TestDefinitionsFollowTheSettings(t *testing.T) {
	t.Parallel()
	code, out, err := boxoffice(t, []string{"RETRY_DELAYS=2s,7s", "SEATS_BROKER_PASSWORD=other"}, "definitions")
	if code != 0 || err != "" {
		t.Fatalf("exit %d %s", code, err)
	}
	for text, there := range map[string]bool{"seats.wait.7000ms": true, "seats.wait.1000ms": false} {
		if strings.Contains(out, text) != there {
			t.Errorf("%s in the definitions: %t", text, !there)
		}
	}
	// Of the hashes, only that of seats is another.
	changed := hashes(t, out)
	for user, hash := range hashes(t, readFile(t, "../../deploy/rabbitmq/definitions.json")) {
		if (changed[user] != hash) != (user == "seats") {
			t.Errorf("the hash of %s: %s, was %s", user, changed[user], hash)
		}
	}
	if code, _, err := boxoffice(t, []string{"RETRY_DELAYS=soon"}, "definitions"); code != exitUsage || !strings.Contains(err, `RETRY_DELAYS="soon" `) {
		t.Errorf("exit %d %s", code, err)
	}
}

// hashes are the password hashes by user.
func hashes(t *testing.T, definitions string) map[string]string {
	t.Helper()
	found := regexp.MustCompile(`"name": "(\w+)",\s+"password_hash": "([^"]+)"`).FindAllStringSubmatch(definitions, -1)
	if len(found) == 0 {
		t.Fatal("no users")
	}
	m := map[string]string{}
	for _, f := range found {
		m[f[1]] = f[2]
	}
	return m
}

// docker-compose.yml, its .env.example and the definitions agree on the
// passwords of those who change none, and every variable is documented.
func TestComposeSettingsAgree(t *testing.T) {
	t.Parallel()
	compose, example := readFile(t, "../../docker-compose.yml"), readFile(t, "../../.env.example")
	for user := range hashes(t, readFile(t, "../../deploy/rabbitmq/definitions.json")) {
		variable := strings.ToUpper(user) + "_BROKER_PASSWORD"
		if !strings.Contains(compose, "${"+variable+":-"+user+"-lab}") || !strings.Contains(example, "\n#"+variable+"="+user+"-lab") {
			t.Errorf("%s is not %s-lab everywhere", variable, user)
		}
	}
	for _, file := range []string{"docker-compose.yml", "compose.scale.yml", "compose.cluster.yml"} {
		for _, v := range regexp.MustCompile(`\$\{(\w+):-([^}]*)\}`).FindAllStringSubmatch(readFile(t, "../../"+file), -1) {
			if v[1] == "VERSION" { // of the image's build
				continue
			}
			documented := "(?m)^#" + v[1] + "=" + regexp.QuoteMeta(v[2])
			if v[2] != "" {
				documented += `(\s|$)`
			}
			if !regexp.MustCompile(documented).MatchString(example) {
				t.Errorf("%s: %s is not in .env.example as %s=%s", file, v[0], v[1], v[2])
			}
		}
	}
}
