#!/usr/bin/env bash
# Runs all tests with the race detector, on real servers, and fails if one was
# skipped. Arguments go to go test: scripts/test.sh -run Saga ./services/...
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup-tests.sh
# The longest first: what starts last ends last.
[ $# -gt 0 ] || set -- ./messaging/rabbitmq ./cmd/boxoffice ./e2e/... ./internal/database ./services/... ./...

mkdir -p bin
go build -o bin/ ./scripts/testreport ./scripts/withbroker

# Three packages at a time: they wait for servers more than they compute. The
# tests of messaging are given a broker: they must not know how to start one.
BOXOFFICE_TEST_REQUIRE=1 bin/withbroker go test -json -race -p 3 -timeout 20m "$@" | bin/testreport
