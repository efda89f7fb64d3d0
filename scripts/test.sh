#!/usr/bin/env bash
# Runs all tests with the race detector, on real servers, and fails if one was
# skipped. Arguments go to go test: scripts/test.sh -run Saga ./services/...
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup-tests.sh
# The longest first: what starts last ends last.
[ $# -gt 0 ] || set -- ./messaging/rabbitmq ./cmd/boxoffice ./e2e ./e2e/virtual ./internal/database ./services/... ./...

mkdir -p bin
go build -o bin/testreport ./scripts/testreport

# Three packages at a time: they wait for servers more than they compute.
BOXOFFICE_TEST_REQUIRE=1 go test -json -race -p 3 -timeout 20m "$@" | bin/testreport
