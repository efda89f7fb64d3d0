#!/usr/bin/env bash
# Runs docker-compose.yml for real, beside whatever else runs here, and says
# PASS or FAIL for each thing that must be true of it. It cleans up after itself.
#
#   scripts/compose-test.sh                all parts
#   scripts/compose-test.sh stack faults   some parts
#
# Needs Docker with compose 2.24 or newer, curl and jq; the part rights needs Go.
#
#   COMPOSE_TEST_PORT=15200        the first of 8 ports that it uses
#   COMPOSE_TEST_NETWORK=host      the network of the image's build, where modules
#                                  cannot be reached from a container's own
#   COMPOSE_TEST_FILE=FILE         one more compose file, for what this machine needs
#   COMPOSE_TEST_CLOCK=1           allows the part clock to set this machine's clock
#   COMPOSE_TEST_KEEP=1            keeps the last stack
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=scripts/compose/lib.sh
. scripts/compose/lib.sh

parts=(stack image traces rights faults experiments parked outages mistakes scale cluster older clock)
for part in "${@:-${parts[@]}}"; do
  if [ ! -f "scripts/compose/$part.sh" ] || [ "$part" = lib ]; then
    echo "no part $part; the parts are: ${parts[*]}" >&2
    exit 2
  fi
done
for tool in docker curl jq; do
  command -v "$tool" >/dev/null || {
    echo "$tool is needed and not installed" >&2
    exit 2
  }
done
docker info >/dev/null 2>&1 || {
  echo "no Docker engine answers: is it running?" >&2
  exit 2
}

trap finish EXIT
trap 'exit 130' INT TERM
for part in "${@:-${parts[@]}}"; do
  printf '\n%s\n' "$part"
  down # with the files of the part before, which know all its volumes
  overrides=()
  unset "${settings[@]}"
  # shellcheck disable=SC1090
  . "scripts/compose/$part.sh"
done
