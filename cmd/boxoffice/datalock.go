package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// lockName is the file in a folder of data that its user holds locked.
const lockName = "up.lock"

// errLocked is that another process holds the lock.
var errLocked = errors.New("is locked")

// takeFolder makes a folder for the data of one process, and keeps others out
// until release: two would not see each other's events, and spoil each other's
// bookings. The lock ends with the process, however it ends.
func takeFolder(dir string) (release func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the folder that the user names
	if err != nil {
		return nil, fmt.Errorf("--data: %w", err)
	}
	if err := lock(file); errors.Is(err, errLocked) {
		by := make([]byte, 20)
		n, _ := file.Read(by) // for the message only
		_ = file.Close()
		return nil, fmt.Errorf("--data: %s is in use by another boxoffice up (process %s); stop that one, or name another folder",
			dir, strings.TrimSpace(string(by[:n])))
	}
	_ = file.Truncate(0)
	_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return func() { _ = file.Close() }, nil
}
