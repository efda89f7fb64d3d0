# shellcheck shell=bash disable=SC2034
# What the parts of compose-test.sh share; it is sourced.

project=boxoffice-test
work=$(mktemp -d)
passed=0
failed=()

base=${COMPOSE_TEST_PORT:-15200}
export BOOKING_PORT=$base SEATS_PORT=$((base + 1)) PAYMENTS_PORT=$((base + 2)) BOOKING_2_PORT=$((base + 3))
export JAEGER_PORT=$((base + 4)) RABBITMQ_PORT=$((base + 5)) RABBITMQ_MANAGEMENT_PORT=$((base + 6))
booking=http://127.0.0.1:$BOOKING_PORT
jaeger=http://127.0.0.1:$JAEGER_PORT

files=(-f docker-compose.yml)
if [ -n "${COMPOSE_TEST_NETWORK:-}" ]; then
  {
    echo services:
    for s in booking seats payments tools; do
      printf '  %s: {build: {network: %s}}\n' "$s" "$COMPOSE_TEST_NETWORK"
    done
  } >"$work/network.yml"
  files+=(-f "$work/network.yml")
fi
[ -z "${COMPOSE_TEST_FILE:-}" ] || files+=(-f "$COMPOSE_TEST_FILE")
overrides=() # more files of the part that runs

# What a part may set of .env, for itself alone.
settings=(SEATS_TOTAL UNSAFE SAGA_DEADLINE RABBITMQ_VERSION RETRY_DELAYS BOOKING_BROKER_PASSWORD BROKER_DEFINITIONS)

# compose: docker compose on the test's own project, whatever .env says.
compose() {
  docker compose --project-directory . -p "$project" --env-file /dev/null "${files[@]}" "${overrides[@]}" "$@"
}

# box: a command of boxoffice beside the services.
box() { compose run --rm -T --no-deps tools "$@"; }

pass() {
  passed=$((passed + 1))
  echo "PASS  $*"
}

fail() {
  failed+=("$*")
  echo "FAIL  $*"
}

# check NAME COMMAND…: the command must succeed; what it said is shown if not.
check() {
  local name=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    pass "$name"
  else
    fail "$name"
    tail -n 25 "$work/out" | sed 's/^/      /'
    return 1
  fi
}

# equal NAME GOT WANT
equal() {
  if [ "$2" = "$3" ]; then pass "$1"; else fail "$1: got '$2', want '$3'"; fi
}

# eventually SECONDS COMMAND…: until it succeeds.
eventually() {
  local until=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$until" ] || return 1
    sleep 0.5
  done
}

# up ARGUMENTS…: from nothing to ready, by one command. A part cannot go on without.
up() {
  down
  check "up, to ready" compose up --build -d --wait --wait-timeout 300 "$@" && return
  compose ps -a
  return 1
}

down() { compose --profile tools down -v --remove-orphans --timeout 20 >"$work/down" 2>&1; }

finish() {
  [ -n "${COMPOSE_TEST_KEEP:-}" ] || down
  rm -rf "$work"
  printf '\n%d passed, %d failed\n' "$passed" "${#failed[@]}"
  [ "${#failed[@]}" = 0 ] && exit
  printf 'FAIL  %s\n' "${failed[@]}"
  exit 1
}

container() { compose ps -aq "$1" | sed -n 1p; }
inspect() { docker inspect -f "$2" "$(container "$1")"; }
healthy() { [ "$(inspect "$1" '{{.State.Health.Status}}')" = healthy ]; }
unhealthy() { [ "$(inspect "$1" '{{.State.Health.Status}}')" = unhealthy ]; }
# finds PATTERN: in what comes, read to its end: one that stopped at the first hit
# would break the pipe, and so fail.
finds() { grep -cE "$1" >/dev/null; }
logs() { compose logs --no-log-prefix "$1" 2>&1; }
says() { logs "$1" | finds "$2"; }

# book SEAT CUSTOMER AMOUNT [FAULT]: one booking, until its outcome or a minute
# later; it prints the booking.
book() {
  curl -sS --max-time 90 "$booking/bookings" -H 'Content-Type: application/json' -H 'Prefer: wait=60' \
    ${4:+-H "X-Lab-Fault: $4"} -d "{\"seat\":$1,\"customer\":\"$2\",\"amount\":$3}"
}

booking_is() { curl -fsS "$booking/bookings/$1" | jq -e "$2" >/dev/null; }

# verified NAME: the invariants hold once it is quiet.
verified() { check "$1: verify" box verify --timeout 3m; }

reset() { check "reset" box reset --timeout 2m; }

# during NAME COUNT COMMAND…: makes so many bookings, 20 a second, and does
# something in the middle of them. Each that was accepted must end well.
during() {
  local name=$1 count=$2 load
  shift 2
  box load --url http://booking:5200 --allow-remote --mode open --rate 20 --count "$count" --duration 60s \
    --retries 10 --settle 3m --seats 1000 --json >"$work/load" 2>"$work/load.err" &
  load=$!
  sleep 3
  "$@" >"$work/disturb" 2>&1 || { fail "$name: $*"; sed 's/^/      /' "$work/disturb"; }
  wait "$load"
  local accepted unfinished
  accepted=$(jq '[.answers[] | select(.status == 202) | .count] | add // 0' "$work/load" 2>/dev/null)
  unfinished=$(jq '.outcomes.unfinished' "$work/load" 2>/dev/null)
  if [ "${accepted:-0}" -gt 0 ] && [ "$unfinished" = 0 ]; then
    pass "$name: $accepted bookings accepted and finished"
  else
    fail "$name: ${accepted:-no} bookings accepted, ${unfinished:-?} of them unfinished"
    tail -n 5 "$work/load" "$work/load.err" | sed 's/^/      /'
  fi
  verified "$name"
}

# Messages that nobody wants, for parts about parked ones.
parked=seats.BookingCreated.dead

manage() {
  curl -fsS -u admin:admin-lab -H 'Content-Type: application/json' \
    "http://127.0.0.1:$RABBITMQ_MANAGEMENT_PORT/api/$1" "${@:2}"
}

# park COUNT: so many messages, through the exchange that the services park with.
park() {
  local i
  for i in $(seq "$1"); do
    printf 'next\nurl = "http://127.0.0.1:%s/api/exchanges/%%2F/tickets.dead/publish"\nuser = "admin:admin-lab"\n' "$RABBITMQ_MANAGEMENT_PORT"
    printf 'header = "Content-Type: application/json"\noutput = /dev/null\n'
    printf 'data = "{\\"properties\\":{\\"message_id\\":\\"m%d\\",\\"delivery_mode\\":2},\\"routing_key\\":\\"seats.BookingCreated\\",\\"payload\\":\\"{}\\",\\"payload_encoding\\":\\"string\\"}"\n' "$i"
  done | sed 1d | curl -fsS -K -
}

# ids QUEUE: the ids of its messages, each as often as it is there.
ids() {
  manage "queues/%2F/$1/get" -d '{"count":10000,"ackmode":"ack_requeue_true","encoding":"auto"}' | jq -r '.[].properties.message_id'
}

# ready QUEUE COUNT: it has so many that nobody holds, as the broker itself counts.
ready() {
  [ "$(compose exec -T rabbitmq rabbitmqctl -q list_queues --no-table-headers name messages_ready | awk -v q="$1" '$1 == q {print $2}')" = "$2" ]
}
