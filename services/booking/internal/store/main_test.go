package store

import (
	"os"
	"testing"

	"boxoffice/internal/testserver"
)

func TestMain(m *testing.M) { os.Exit(testserver.Main(m)) }
