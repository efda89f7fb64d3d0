package e2e_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"boxoffice/internal/testserver"
)

// binary is the command that all tests run.
var binary string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "boxoffice-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "boxoffice")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/boxoffice").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build boxoffice: %v\n%s", err, out)
		return 1
	}
	return testserver.Main(m)
}

// sources looks at every folder of the sources, once. go test notes what tests
// look at, and so does not take an old result for one of a changed binary.
var sources = sync.OnceValue(func() error {
	return filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		if err == nil && d.IsDir() && path != ".." && (strings.HasPrefix(name, ".") || name == "bin") {
			return fs.SkipDir
		}
		return err
	})
})
