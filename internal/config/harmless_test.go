package config_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"boxoffice/internal/config"
)

const secret = "hunter2"

// forms are what people write for a URL, with S in place of the password.
var forms = []string{
	"host=h user=u password=S dbname=n", "host=h password='S'", "password = S",
	"postgres:/u:S@h", "postgres:u:S@h/n", "postgres//u:S@h/n", "postgres://u:S@h:port/n", "postgres://u:S#x@h/n", "postgres://u:1#S@h/n",
	"postgres://u:1/S@h/n", "postgres://u:1?S@h/n", "postgres://h/n?password=S", "postgres://u:S", "u:S@h", "S", "S:", "S://h", "://S@h",
	"amqp:/u:S@h", "amqp:u:S@h", "amqp//u:S@h", "amqp://u:S@", "amqp://u:S h@h", "amqp://u:S@h:x/", "amqp://u:1#S@h", "AMQP:S", "http://u:S@h",
	"sqlite//u:S@h", "sqlite::memory:S", "inproc:S",
}

// Whatever is wrong with a URL, and whatever stands around its password, no
// message shows it, wherever the URL was read.
func TestNoMistakeShowsAPassword(t *testing.T) {
	type reporter interface {
		Errorf(format string, args ...any)
	}
	check := func(t reporter, text string) {
		for _, printed := range []string{config.BrokerURL(text).String(), config.DatabaseURL(text).String()} {
			if strings.Contains(strings.ToLower(printed), secret) {
				t.Errorf("%q prints as %q", text, printed)
			}
		}
	}
	for _, form := range forms {
		text := strings.ReplaceAll(form, "S", secret)
		check(t, text)
		for _, setting := range []struct{ variable, flag string }{{"BROKER_URL", "--broker-url"}, {"DATABASE_URL", "--database-url"}} {
			for _, args := range [][]string{{"booking"}, {"booking", setting.flag + "=" + text}} {
				value := text
				if len(args) > 1 {
					value = urls[setting.variable]
				}
				_, err := run(t, with(map[string]string{setting.variable: value}), args...)
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%s, %v: %v", setting.variable, args, err)
				}
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.StringOfN(rapid.RuneFrom([]rune("aZ1:/@?#&=% '+[]-.,;\\")), 0, 12, -1)
		form := rapid.SampledFrom([]string{"", "postgres://", "postgres:", "amqp://", "amqp:/", "sqlite:", "host=h "}).Draw(t, "form")
		// The user's colon makes what follows, up to the last @, the password.
		check(t, form+"u:"+piece.Draw(t, "before")+secret+piece.Draw(t, "after")+"@h/n")
	})
}
