package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// usage is processor time. It is zero where there is no /proc, and for a server
// that runs in a container.
type usage struct{ own, broker, database time.Duration }

// cpuPerOne is how much is used between begin and end for each one that finishes.
func cpuPerOne(ctx context.Context, begin, end time.Time, finished *atomic.Int64) usage {
	if !waitUntil(ctx, begin) {
		return usage{}
	}
	was, n := cpuUsed(), finished.Load()
	if !waitUntil(ctx, end) {
		return usage{}
	}
	is := cpuUsed()
	d := time.Duration(max(1, finished.Load()-n))
	return usage{(is.own - was.own) / d, (is.broker - was.broker) / d, (is.database - was.database) / d}
}

// waitUntil is false if ctx ends first.
func waitUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

const clockTick = 10 * time.Millisecond // of /proc on every Linux that Go runs on

type process struct {
	parent  int
	program string
	used    time.Duration
}

// cpuUsed is what this process and its servers have used so far.
func cpuUsed() usage {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // fails on a bad pattern only
	all := make(map[int]process, len(stats))
	for _, file := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if p, ok := readStat(file); ok {
			all[pid] = p
		}
	}
	mine := func(pid int) bool {
		for ; pid != 0; pid = all[pid].parent {
			if pid == os.Getpid() {
				return true
			}
		}
		return false
	}
	var used usage
	for pid, p := range all {
		switch {
		case pid == os.Getpid():
			used.own += p.used
		case !mine(pid):
		case p.program == "beam.smp":
			used.broker += p.used
		case p.program == "postgres":
			used.database += p.used
		}
	}
	return used
}

// readStat reads "pid (program) state parent …", where the 14th and 15th
// fields are the user and system time.
func readStat(file string) (process, bool) {
	text, err := os.ReadFile(file) //nolint:gosec // found in /proc, not given
	if err != nil {
		return process{}, false // it has ended
	}
	head, tail, _ := strings.Cut(string(text), ") ")
	_, program, _ := strings.Cut(head, "(")
	fields := strings.Fields(tail)
	if len(fields) < 13 {
		return process{}, false
	}
	parent, _ := strconv.Atoi(fields[1])
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return process{parent: parent, program: program, used: time.Duration(user+system) * clockTick}, true
}
