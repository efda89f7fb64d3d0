package testserver

import (
	"context"
	"os"
	"os/exec"
	"testing"
)

// SmallDisk is an empty folder that holds so much, as "2m". Only root may make
// one: for others the test is skipped.
func SmallDisk(tb testing.TB, size string) string {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("only root may mount a small disk: a full one is not tested")
	}
	dir := tb.TempDir()
	mount(tb, "mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir)
	tb.Cleanup(func() { mount(tb, "umount", dir) })
	return dir
}

func mount(tb testing.TB, program string, args ...string) {
	tb.Helper()
	if out, err := exec.CommandContext(context.WithoutCancel(tb.Context()), program, args...).CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v: %s", program, err, out)
	}
}
