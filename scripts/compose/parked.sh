# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# Whoever looks at parked messages may be killed, and the broker restarted: none
# is lost.

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

# killed NAME ARGUMENTS…: boxoffice dead, killed after 5 s.
killed() {
  local name=$1 id
  shift
  id=$(compose run -d --no-deps tools dead "$@" 2>/dev/null)
  sleep 5
  check "kill -9 of dead $name while it runs" docker kill -s KILL "$id"
  docker rm -f "$id" >/dev/null 2>&1
}

for version in 4.3 4.0; do
  export RABBITMQ_VERSION=$version
  up || return
  compose stop seats >"$work/stop" 2>&1 # who would take what is redriven
  check "park 200 messages" park 200
  check "they are parked" eventually 30 ready "$parked" 200
  killed "redrive, which holds the other 199" redrive seats.BookingCreated --rate 1/m
  check "199 are parked again" eventually 30 ready "$parked" 199
  killed "redrive in the middle" redrive seats.BookingCreated --rate 20/s
  check "compose restart rabbitmq" compose restart rabbitmq
  check "rabbitmq is healthy" eventually 120 healthy rabbitmq
  { ids "$parked"; ids seats.BookingCreated; } >"$work/ids"
  equal "$version: no message is lost" "$(sort -u "$work/ids" | wc -l)" 200
  doubled=$(($(wc -l <"$work/ids") - 200))
  check "at most one is doubled for each kill: $doubled" test "$doubled" -le 2
  check "what is redriven was removed" eval '[ "$(ids "$parked" | wc -l)" -lt 160 ]'
done
