package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// How often a line of progress is shown: rewritten on a terminal, else as one more line.
const (
	progressOnTerminal = 200 * time.Millisecond
	progressElsewhere  = 2 * time.Second
)

// progress shows how far something is that takes time. What is done before the
// first line is due shows nothing.
type progress struct {
	ticker *time.Ticker
	quit   chan struct{}
	ended  chan struct{}
}

// showProgress shows the line that look returns, again and again, until stop.
func showProgress(w io.Writer, look func() string) *progress {
	every, show, clean := progressElsewhere, seldom(func(line string) { fmt.Fprintln(w, line) }), func() {}
	if terminal(w) {
		const erase = "\r\x1b[K"
		every = progressOnTerminal
		show = func(line string) { fmt.Fprint(w, erase+line) }
		clean = func() { fmt.Fprint(w, erase) }
	}
	p := &progress{ticker: time.NewTicker(every), quit: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		for {
			select {
			case <-p.ticker.C:
				show(look())
			case <-p.quit:
				clean()
				return
			}
		}
	}()
	return p
}

// seldom shows a line that stays the same less and less often.
func seldom(show func(line string)) func(line string) {
	const most = 16
	last, passed, pause := "", 0, 1
	return func(line string) {
		switch passed++; {
		case line != last:
			pause = 1
		case passed < pause:
			return
		}
		show(line)
		last, passed, pause = line, 0, min(2*pause, most)
	}
}

// stop returns when nothing more is shown.
func (p *progress) stop() {
	p.ticker.Stop()
	close(p.quit)
	<-p.ended
}

func terminal(w io.Writer) bool {
	file, ok := w.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
