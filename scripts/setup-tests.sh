#!/usr/bin/env bash
# Makes sure that the tests have what they need: a C compiler (for the race
# detector), curl and jq (for scripts/book.sh), a RabbitMQ and a PostgreSQL
# server, and PgBouncer. What is installed is used; a server that is not comes from Docker, if
# an engine answers; else, as root on Debian or Ubuntu, the missing packages are
# installed, without starting any service: the tests run servers of their own
# (see internal/testserver, which looks in the same places).
set -euo pipefail

have_compiler() { command -v gcc >/dev/null || command -v clang >/dev/null; }

have_rabbitmq() {
  docker_wanted || [ -n "${BOXOFFICE_TEST_RABBITMQ_IMAGE:-}" ] && return 1
  [ -x /usr/lib/rabbitmq/bin/rabbitmq-server ] || command -v rabbitmq-server >/dev/null
}

have_postgres() {
  docker_wanted && return 1
  compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null ||
    compgen -G '/usr/pgsql-*/bin/initdb' >/dev/null ||
    compgen -G '/opt/homebrew/opt/postgresql@*/bin/initdb' >/dev/null ||
    [ -x /usr/local/pgsql/bin/initdb ] || command -v initdb >/dev/null
}

# PgBouncer does not come from Docker: with servers from there, it may be missing.
have_pgbouncer() {
  [ -x /usr/sbin/pgbouncer ] || command -v pgbouncer >/dev/null
}

docker_wanted() { [ "${BOXOFFICE_TEST_DOCKER:-}" = 1 ]; }
have_docker() { command -v docker >/dev/null && timeout 20 docker info >/dev/null 2>&1; }

# install_packages PACKAGE...: without starting the services that they bring.
install_packages() {
  local policy=/usr/sbin/policy-rc.d saved
  saved=$(mktemp -d)
  if [ -e "$policy" ]; then cp -a "$policy" "$saved/"; fi
  # shellcheck disable=SC2064 # the paths as they are now
  trap "if [ -e '$saved/policy-rc.d' ]; then cp -a '$saved/policy-rc.d' '$policy'; else rm -f '$policy'; fi; rm -rf '$saved'" EXIT
  rm -f "$policy"
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q
  apt-get install -q -y --no-install-recommends "$@"
}

missing=()
have_compiler || missing+=(gcc libc6-dev)
for tool in curl jq; do
  command -v "$tool" >/dev/null || missing+=("$tool")
done
if ! have_rabbitmq || ! have_postgres; then
  if have_docker; then
    echo "setup-tests: a server that is not installed comes from Docker"
  elif docker_wanted || [ -n "${BOXOFFICE_TEST_RABBITMQ_IMAGE:-}" ]; then
    echo "setup-tests: Docker is asked for (BOXOFFICE_TEST_*), but no engine answers 'docker info'" >&2
    exit 1
  else
    have_rabbitmq || missing+=(rabbitmq-server)
    have_postgres || missing+=(postgresql)
  fi
fi
if ! have_pgbouncer; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || have_postgres; then
    missing+=(pgbouncer)
  else
    echo "setup-tests: PgBouncer is not installed: what runs behind it is not tested (package pgbouncer)"
  fi
fi
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "setup-tests: installing ${missing[*]}"
  install_packages "${missing[@]}"
  exit 0
fi
cat >&2 <<END
setup-tests: the tests need these packages, and neither a Docker engine answers nor may this user install them:
    ${missing[*]}
On Debian or Ubuntu:  sudo apt-get install ${missing[*]}
On macOS:             brew install rabbitmq postgresql pgbouncer
Or start Docker.      (RabbitMQ and PostgreSQL need not run: the tests start their own.)
END
exit 1
