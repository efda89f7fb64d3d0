package rabbitmqtest

import (
	"encoding/json"
	"net/http"

	"boxoffice/messaging"
	"boxoffice/messaging/rabbitmq"
)

// Define loads a system's definitions into the virtual host, as a broker would
// that boots, and returns the broker's URL for each of their users. These have
// names of their own, for users are the whole server's.
func (f *Fixture) Define(s messaging.System) (as func(user string) string) {
	f.Helper()
	passwords := map[string]string{}
	for _, user := range rabbitmq.Users(s) {
		passwords[user] = user + "-secret"
	}
	text, err := rabbitmq.Definitions(s, passwords)
	if err != nil {
		f.Fatal(err)
	}
	var definitions map[string][]map[string]any
	if err := json.Unmarshal(text, &definitions); err != nil {
		f.Fatal(err)
	}
	delete(definitions, "vhosts")
	here := func(user any) string { return user.(string) + "-" + f.VHost }
	for _, u := range definitions["users"] {
		name := here(u["name"])
		u["name"] = name
		f.Cleanup(func() { f.Server.manage(f.T, http.MethodDelete, "users/"+name, nil) })
	}
	for _, list := range definitions {
		for _, d := range list {
			if d["vhost"] != nil {
				d["vhost"] = f.VHost
			}
			if d["user"] != nil {
				d["user"] = here(d["user"])
			}
		}
	}
	f.Server.manage(f.T, http.MethodPost, "definitions", definitions)
	return func(user string) string { return AsUser(f.T, f.URL, here(user), passwords[user]) }
}
