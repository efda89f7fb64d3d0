# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# Each mistake is one clear line and a retry or a stop, never a crash loop without a word.

up || return

# recovers NAME: with the right settings again.
recovers() {
  check "$1: ready again" compose up -d --wait --wait-timeout 120
}
restarts() { equal "$1: not restarted" "$(inspect "$2" '{{.RestartCount}}')" 0; }

BOOKING_BROKER_PASSWORD=wrong compose up -d --no-deps booking >"$work/up" 2>&1
check "a wrong password of the broker: says so" eventually 30 says booking 'no connection to the broker.*(username or password not allowed|ACCESS_REFUSED)'
check "and not ready" eventually 120 unhealthy booking
restarts "a wrong password of the broker" booking
recovers "a wrong password of the broker"

SEATS_DB_PASSWORD=wrong compose up -d --no-deps seats >"$work/up" 2>&1
check "a wrong password of PostgreSQL: says so" eventually 30 says seats 'password authentication failed for user .*seats'
restarts "a wrong password of PostgreSQL" seats
recovers "a wrong password of PostgreSQL"

RETRY_DELAYS=2s,7s compose up -d --no-deps payments >"$work/up" 2>&1
check "definitions that are out of date: says which queue is missing" eventually 30 says payments 'topology.*payments\.wait\.(2000|7000)ms'
restarts "definitions that are out of date" payments
recovers "definitions that are out of date"

mkdir -p "$work/own"
RETRY_DELAYS=2s,7s BOOKING_BROKER_PASSWORD=changed box definitions >"$work/own/definitions.json" 2>"$work/err"
chmod 644 "$work/own/definitions.json"
export RETRY_DELAYS=2s,7s BOOKING_BROKER_PASSWORD=changed BROKER_DEFINITIONS=$work/own/definitions.json
recovers "definitions of one's own, with other delays and another password"
b=$(book 4 own 10 'seats.BookingCreated=fail*1')
equal "and they work" "$(jq -r .status <<<"$b")" Confirmed
unset RETRY_DELAYS BOOKING_BROKER_PASSWORD BROKER_DEFINITIONS
recovers "back to the definitions of the project"
if BROKER_DEFINITIONS=./nowhere.json compose up -d rabbitmq >"$work/missing" 2>&1; then fail "a missing definitions file"; else
  check "a missing definitions file: says so" grep -q nowhere.json "$work/missing"
fi
recovers "a missing definitions file"

compose stop postgres >"$work/stop" 2>&1
compose up -d --no-deps --force-recreate seats >"$work/up" 2>&1
check "PostgreSQL is not there yet: says so" eventually 30 says seats 'preparing the database.*trying again'
restarts "PostgreSQL is not there yet" seats
compose start postgres >"$work/start" 2>&1
check "PostgreSQL is not there yet: ready once it is" eventually 90 healthy seats

compose stop rabbitmq >"$work/stop" 2>&1
compose up -d --no-deps --force-recreate payments >"$work/up" 2>&1
check "RabbitMQ is not there yet: says so" eventually 30 says payments 'no connection to the broker'
restarts "RabbitMQ is not there yet" payments
compose start rabbitmq >"$work/start" 2>&1
check "RabbitMQ is not there yet: ready once it is" eventually 120 healthy payments

sql() { compose exec -T postgres psql -q -v ON_ERROR_STOP=1 -U postgres -d "$1" -Atc "$2"; }
newest=$(sql payments 'select max(version_id) from payments_schema')
compose stop payments >"$work/stop" 2>&1
sql payments "delete from payments_schema where version_id = $newest; drop table lab" >"$work/sql" 2>&1
compose start payments >"$work/start" 2>&1
check "an older schema in the volume: migrated" eventually 60 healthy payments
equal "to the newest version" "$(sql payments 'select max(version_id) from payments_schema')" "$newest"

compose stop payments >"$work/stop" 2>&1
sql payments 'insert into payments_schema (version_id, is_applied) values (99, true)'
compose start payments >"$work/start" 2>&1
check "a newer schema in the volume: says so" eventually 30 says payments 'schema is newer than this program: version 99'
sql payments 'delete from payments_schema where version_id = 99'
check "a newer schema in the volume: ready once it is not" eventually 120 healthy payments

check "a port that is taken: says so" eval '! (BOOKING_PORT=$SEATS_PORT compose up -d --no-deps booking) >"$work/taken" 2>&1; grep -q "port is already allocated" "$work/taken"'
recovers "a port that is taken"
verified "mistakes"
