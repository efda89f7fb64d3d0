// Command testreport reads the output of go test -json and prints what plain go
// test would: one line for each package, and everything that a failed test said.
// It says now and then which packages run, and exits with 1 if a test failed or
// was skipped, because a skipped test proves nothing.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	r := newReport(os.Stdout)
	if err := r.read(os.Stdin, time.Tick(20*time.Second)); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
	if !r.end() {
		os.Exit(1)
	}
}
