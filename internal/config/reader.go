package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"

	"github.com/alecthomas/kong"
)

// Reader decodes settings, and remembers what is wrong with them instead of
// failing at the first. One Reader serves one parse.
type Reader struct {
	read         map[*kong.Value]*sources
	defaultsOnly bool
}

// sources are where a setting was read from: the command line wins.
type sources struct {
	flag, variable *mistake
	flagGiven      bool
}

// mistake is a value that cannot be used; ok if it can.
type mistake struct{ shown, allowed string }

// NewReader makes a Reader.
func NewReader() *Reader { return &Reader{read: map[*kong.Value]*sources{}} }

// Option makes kong read the fields tagged type:"setting" by this Reader.
func (r *Reader) Option() kong.Option {
	return kong.NamedMapper("setting", kong.MapperFunc(r.decode))
}

// Defaults fills a struct of settings with their defaults, whatever the environment says.
func Defaults(settings any) error {
	r := NewReader()
	r.defaultsOnly = true
	parser, err := kong.New(settings, r.Option())
	if err != nil {
		return fmt.Errorf("read the defaults: %w", err)
	}
	ctx, err := parser.Parse(nil)
	if err != nil {
		return fmt.Errorf("read the defaults: %w", err)
	}
	return r.Check(ctx)
}

func (r *Reader) decode(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("value", &text); err != nil {
		return err
	}
	value := ctx.Value
	from := r.read[value]
	if from == nil {
		from = &sources{}
		r.read[value] = from
	}
	// Kong decodes defaults and variables into the field, flags beside it.
	given := target.Addr().Pointer() != value.Target.Addr().Pointer()
	if !given && (text == "" || r.defaultsOnly) {
		text = value.Default
	}
	var wrong *mistake
	if !given && text == "" {
		target.SetZero() // kong has made a *int point to a 0
	} else if err := parse(text, value.Tag, target); err != nil {
		wrong = &mistake{shown: shown(text, target), allowed: err.Error()}
	}
	if given {
		from.flag, from.flagGiven = wrong, true
	} else {
		from.variable = wrong
	}
	return nil
}

// shown is a value as a message may show it.
func shown(text string, target reflect.Value) string {
	switch target.Interface().(type) {
	case BrokerURL, DatabaseURL:
		return kind(text)
	}
	return text
}

// Check returns what is wrong with the settings of the selected command, one
// mistake a line. A command whose settings depend on each other is asked as
// well, if the values themselves are right.
func (r *Reader) Check(ctx *kong.Context) error {
	var errs []error
	for _, flag := range ctx.Flags() {
		from := r.read[flag.Value]
		switch {
		case from != nil && from.flagGiven && from.flag != nil:
			errs = append(errs, fmt.Errorf("--%s=%q %s", flag.Name, from.flag.shown, from.flag.allowed))
		case from != nil && !from.flagGiven && from.variable != nil:
			errs = append(errs, fmt.Errorf("%s=%q %s", name(flag), from.variable.shown, from.variable.allowed))
		case flag.Tag.Has("need") && flag.Target.IsZero():
			errs = append(errs, fmt.Errorf("%s is not set; use for example %s", name(flag), flag.Tag.Get("need")))
		}
	}
	if node := ctx.Selected(); len(errs) == 0 && node != nil && node.Target.CanAddr() {
		if c, ok := reflect.TypeAssert[interface{ Check() error }](node.Target.Addr()); ok {
			errs = append(errs, c.Check())
		}
	}
	return errors.Join(errs...)
}

// name is what a setting is called that no flag was given for.
func name(flag *kong.Flag) string {
	if len(flag.Envs) > 0 {
		if _, set := os.LookupEnv(flag.Envs[0]); set || flag.Tag.Has("need") {
			return flag.Envs[0]
		}
	}
	return "--" + flag.Name
}
