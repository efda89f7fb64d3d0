package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kong"

	"boxoffice/internal/config"
	"boxoffice/internal/plain"
)

const description = `A ticket box office for one concert, as three services that agree by events alone.

Begin with:

  boxoffice demo
  boxoffice up`

// cli is every command. One that serves others works on when nobody reads what
// it prints.
type cli struct {
	Up          upCmd          `cmd:"" serves:"" help:"Run the three services in this process."`
	Demo        demoCmd        `cmd:"" help:"Make four bookings, and show what becomes of them."`
	Book        bookCmd        `cmd:"" help:"Make one booking, and wait for its outcome."`
	Load        loadCmd        `cmd:"" help:"Drive the door, and measure what comes out of it."`
	Reset       resetCmd       `cmd:"" help:"Empty the services, whose lab must be on."`
	Verify      verifyCmd      `cmd:"" help:"Check what must be true of the bookings once they are quiet."`
	Booking     bookingCmd     `cmd:"" serves:"" help:"Run the booking service."`
	Seats       seatsCmd       `cmd:"" serves:"" help:"Run the seats service."`
	Payments    paymentsCmd    `cmd:"" serves:"" help:"Run the payments service."`
	Health      healthCmd      `cmd:"" help:"Ask a service whether it is ready."`
	Experiment  experimentCmd  `cmd:"" help:"Break bookings on purpose, and see whether they heal."`
	Explain     explainCmd     `cmd:"" help:"Say in plain words where a booking stands, and what to do."`
	Trace       traceCmd       `cmd:"" help:"Show the trace of a booking."`
	Dead        deadCmd        `cmd:"" help:"Look at parked messages, redrive or drop them."`
	Definitions definitionsCmd `cmd:"" help:"Print what RabbitMQ is to load when it boots: queues, users, rights."`

	Version kong.VersionFlag `help:"Print the version."`
}

// console is where a command talks to its user.
type console struct{ out, err io.Writer }

// The exit codes.
const (
	exitFailed = 1
	exitUsage  = 2 // wrong flags or settings: nothing was done

	exitInterrupted = 128 + 2 // as shells have it
)

// run carries out one command line and returns the exit code.
func run(ctx context.Context, args []string, c console) int {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	settings := config.NewReader()
	exit := -1 // of --help and --version
	parser, err := kong.New(&cli{}, append(plainValues(),
		kong.Name("boxoffice"), kong.Description(description), kong.Writers(c.out, c.err),
		kong.Exit(func(code int) { exit = code }), kong.Vars{"version": buildVersion()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		settings.Option())...)
	if err != nil {
		return c.fail(err, exitFailed)
	}
	command, err := parser.Parse(args)
	switch {
	case exit >= 0:
		return exit
	case err != nil:
		return c.fail(fmt.Errorf("%w (see %s --help)", err, meant(err)), exitUsage)
	}
	if err := settings.Check(command); err != nil {
		return c.fail(err, exitUsage)
	}
	if !command.Selected().Tag.Has("serves") {
		var done context.CancelFunc
		ctx, done = c.whileRead(ctx)
		defer done()
	}
	command.BindTo(ctx, (*context.Context)(nil))
	if err := command.Run(c); err != nil {
		if i, ok := errors.AsType[*interruptedError](err); ok {
			return c.fail(i, interruptedBy(ctx).code)
		}
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return c.fail(&interruptedError{}, interruptedBy(ctx).code)
		}
		if e, ok := errors.AsType[*codedError](err); ok {
			return c.fail(e, e.code)
		}
		return c.fail(err, exitFailed)
	}
	return 0
}

// meant is the command that could not be parsed.
func meant(err error) string {
	if p, ok := errors.AsType[*kong.ParseError](err); ok && p.Context != nil && p.Context.Selected() != nil {
		return p.Context.Selected().FullPath()
	}
	return "boxoffice"
}

// codedError is an error with an exit code of its own.
type codedError struct {
	error
	code int
}

func (e *codedError) Unwrap() error { return e.error }

// interruptedError says what goes on after an interruption.
type interruptedError struct{ goesOn string }

func (i *interruptedError) Unwrap() error { return context.Canceled }

func (i *interruptedError) Error() string {
	if i.goesOn == "" {
		return "interrupted"
	}
	return "interrupted; " + i.goesOn
}

// fail shows err, each of its lines as one of ours.
func (c console) fail(err error, code int) int {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(c.err, "boxoffice: "+plain.Short(strings.TrimRight(line, "\n"), 4000))
	}
	return code
}

// version is set by the linker in releases.
var version string

func buildVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
