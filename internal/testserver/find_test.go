package testserver

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindsTheNewestPostgres(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, v := range []string{"9.6", "15", "16", "17"} {
		programs(t, filepath.Join(root, "lib", v, "bin"), "postgres")
	}
	for _, v := range []string{"9.6", "15", "16"} { // 17 is a client only
		programs(t, filepath.Join(root, "lib", v, "bin"), "initdb")
	}
	w := where{getenv: env(nil), postgresBin: []string{filepath.Join(root, "lib", "*", "bin")}}
	dir, err := w.postgres(t.Context())
	check(t, err)
	if want := filepath.Join(root, "lib", "16", "bin"); dir != want {
		t.Fatalf("found %s, want %s", dir, want)
	}
}

func TestFindsRabbitMQOutsideOfPath(t *testing.T) {
	t.Parallel()
	half, whole := filepath.Join(t.TempDir(), "half"), filepath.Join(t.TempDir(), "whole")
	programs(t, half, "rabbitmqctl")
	programs(t, whole, "rabbitmqctl", "rabbitmq-server")
	w := where{getenv: env(nil), rabbitDirs: []string{half, whole}}
	if dir, err := w.rabbitmq(t.Context()); dir != whole || err != nil {
		t.Fatalf("found %s (%v), want %s", dir, err, whole)
	}
}

func TestNothingToBeHadIsOneClearLine(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	nothing := where{getenv: env(nil)}
	_, rabbitErr := nothing.rabbitmq(t.Context())
	_, postgresErr := nothing.postgres(t.Context())
	for server, err := range map[string]error{"RabbitMQ": rabbitErr, "PostgreSQL": postgresErr} {
		if !errors.Is(err, errMissing) {
			t.Fatalf("%s: %v", server, err)
		}
		if text := err.Error(); !strings.HasPrefix(text, server+" is not installed") || strings.Contains(text, "\n") {
			t.Errorf("%s: unclear: %s", server, text)
		}
	}
}

func TestDockerCanBeForced(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // no docker: what is installed must not be taken instead
	w := here()
	for _, name := range []string{"BOXOFFICE_TEST_DOCKER", "BOXOFFICE_TEST_RABBITMQ_IMAGE"} {
		w.getenv = env(map[string]string{name: "1"})
		if dir, err := w.rabbitmq(t.Context()); !errors.Is(err, errMissing) {
			t.Errorf("%s: RabbitMQ from %q, %v", name, dir, err)
		}
	}
	w.getenv = env(map[string]string{"BOXOFFICE_TEST_DOCKER": "1"})
	if dir, err := w.postgres(t.Context()); !errors.Is(err, errMissing) {
		t.Errorf("PostgreSQL from %q, %v", dir, err)
	}
}

func TestUnavailableSkipsUnlessRequired(t *testing.T) {
	for require, want := range map[string]string{"": "skip", "1": "fatal"} {
		t.Setenv("BOXOFFICE_TEST_REQUIRE", require)
		tb := &verdict{TB: t}
		func() {
			defer func() { _ = recover() }()
			unavailable(tb, errMissing)
		}()
		if tb.got != want {
			t.Errorf("BOXOFFICE_TEST_REQUIRE=%q: %s, want %s", require, tb.got, want)
		}
	}
}

// verdict is a test that records how it was ended.
type verdict struct {
	testing.TB

	got string
}

func (v *verdict) Skip(...any)  { v.got = "skip"; panic("ended") }
func (v *verdict) Fatal(...any) { v.got = "fatal"; panic("ended") }

func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func programs(t *testing.T, dir string, names ...string) {
	t.Helper()
	check(t, os.MkdirAll(dir, 0o755))
	for _, name := range names {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755))
	}
}
