# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# Whoever looks at parked messages may be killed, and the broker restarted: none
# is lost.

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
