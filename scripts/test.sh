#!/usr/bin/env bash
# Runs all tests with the race detector, on real servers, and fails if one was
# skipped. Arguments go to go test: scripts/test.sh -run Saga ./services/...
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup-tests.sh
[ $# -gt 0 ] || set -- ./...

mkdir -p bin
go build -o bin/ ./scripts/testreport ./scripts/withbroker

# Two packages at a time: several start a RabbitMQ of their own. The tests of
# messaging are given one: they must not know how to.
BOXOFFICE_TEST_REQUIRE=1 bin/withbroker go test -json -race -p 2 -timeout 15m "$@" | bin/testreport
