package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"boxoffice/internal/lab"
)

// Experiment is one scene.
type Experiment struct {
	Name   string
	Lesson string // what it teaches, in one line
	// Unsafe are the safeties without which it fails.
	Unsafe []lab.Unsafe
	// Queues are worth a look while it runs.
	Queues []string
	// Trace is what its bookings' traces show.
	Trace string
	// Settings are those that the services need, if we start them.
	Settings Settings
	// Broker says that it publishes events itself, as a stranger would.
	Broker bool
	// Run plays the scene. Its error says why it could not go on; what did not
	// happen as it should is told by Stage.Expect.
	Run func(context.Context, *Stage) error
}

// Settings are those of the services that differ from the defaults; 0: they do not.
type Settings struct {
	Active, Waiting int // the budgets of the door
	StallAfter      time.Duration
}

// Find is the experiments of these names, in this order; "all" is every one.
func Find(names []string) ([]Experiment, error) {
	all := All()
	var found []Experiment
	for _, name := range names {
		if name == "all" {
			found = append(found, all...)
			continue
		}
		i := slices.IndexFunc(all, func(e Experiment) bool { return e.Name == name })
		if i < 0 {
			return nil, unknown(name, all)
		}
		found = append(found, all[i])
	}
	return found, nil
}

func unknown(name string, all []Experiment) error {
	names := []string{"all"}
	for _, e := range all {
		names = append(names, e.Name)
	}
	meant := ""
	if near := nearest(strings.ToLower(name), names); near != "" {
		meant = fmt.Sprintf(": is it %s?", near)
	}
	return fmt.Errorf("there is no experiment %q%s (boxoffice experiment list shows them)", name, meant)
}
