#!/usr/bin/env bash
# Runs all tests with the race detector, on real servers, and fails if one was
# skipped. Arguments go to go test: scripts/test.sh -run Saga ./services/...
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup-tests.sh
[ $# -gt 0 ] || set -- ./...

mkdir -p bin
go build -o bin/testreport ./scripts/testreport

# Two packages at a time: several start a RabbitMQ of their own.
BOXOFFICE_TEST_REQUIRE=1 go test -json -race -p 2 -timeout 15m "$@" | bin/testreport
