#!/usr/bin/env bash
# The door, in plain curl and jq: the bank's gate is closed, bookings are made
# until the door says no, and the gate is opened again. For a small door start
#
#   ADMISSION_ACTIVE=2 ADMISSION_WAITING=3 go run ./cmd/boxoffice up
set -euo pipefail

BOOKING=${BOOKING:-http://127.0.0.1:5200}
SEATS=${SEATS:-http://127.0.0.1:5201}
PAYMENTS=${PAYMENTS:-http://127.0.0.1:5202}
LIMIT=${LIMIT:-30} # seconds to wait for the outcomes

fail() {
  echo "door.sh: $*" >&2
  exit 1
}

for tool in curl jq; do
  command -v "$tool" >/dev/null || fail "$tool is needed and not installed"
done

reset="boxoffice reset"
[ "$BOOKING $SEATS $PAYMENTS" = "http://127.0.0.1:5200 http://127.0.0.1:5201 http://127.0.0.1:5202" ] ||
  reset="$reset --url $BOOKING --seats-url $SEATS --payments-url $PAYMENTS"

get() { # get URL: what a service answers
  curl -fsS "$1" || fail "$1 does not answer; start the services with: go run ./cmd/boxoffice up"
}

stats() { get "$BOOKING/stats"; }

show_stats() { stats | jq -c '{accepting, active, waiting, confirmed, rejected, throttled, unavailable}'; }

post() { # post SEAT: the status of one booking
  curl -sS -o /dev/null -w '%{http_code}' "$BOOKING/bookings" -H 'Content-Type: application/json' \
    -d "{\"seat\":$1,\"customer\":\"olena\",\"amount\":450}"
}

open_gate() { curl -fsS -X POST "$PAYMENTS/lab/gate/open"; }

# What must be so before: a small door that is open and empty, the lab (its
# paths exist only then), and free seats. A seat that is sold is rejected by the
# saga, and its booking gives its place back at once.
before=$(stats)
places=$(jq '.activeLimit + .waitingLimit' <<<"$before")
bookings=$((places + 2))
[ "$places" -le 20 ] || fail "this door has $places places; start a small one: ADMISSION_ACTIVE=2 ADMISSION_WAITING=3 go run ./cmd/boxoffice up"
lab=$(curl -sS -o /dev/null -w '%{http_code}' "$PAYMENTS/lab/gate/close") ||
  fail "$PAYMENTS does not answer; start the services with: go run ./cmd/boxoffice up"
[ "$lab" = 405 ] || fail "the lab is off at $PAYMENTS: start the services with LAB=on, or with: go run ./cmd/boxoffice up"
hall=$(get "$SEATS/seats")
total=$(jq .total <<<"$hall")
[ "$total" -ge "$bookings" ] || fail "the hall has $total seats and this door needs $bookings; start it with SEATS_TOTAL=$bookings"
held=$(jq -r --argjson last "$bookings" '[.held[].seat | select(. <= $last)] | map(tostring) | join(", ")' <<<"$hall")
[ -z "$held" ] || fail "seats 1 to $bookings must be free, and these are held: $held; empty the hall with: $reset"
jq -e .accepting <<<"$before" >/dev/null || fail "the door is closed: $before; open it with: $reset"
jq -e '.active + .waiting + .overdue == 0' <<<"$before" >/dev/null ||
  fail "other bookings are in the door: $before; wait until they are finished, or: $reset"

curl -fsS -X POST "$PAYMENTS/lab/gate/close" || fail "the bank's gate was not closed"
trap open_gate EXIT
echo "the gate is closed"

answers=
for seat in $(seq "$bookings"); do
  status=$(post "$seat")
  printf 'seat %-3s %s\n' "$seat" "$status"
  answers="$answers $status"
done
show_stats

trap - EXIT
open_gate
echo "the gate is open"
deadline=$((SECONDS + LIMIT))
until stats | jq -e '.active + .waiting + .overdue == 0' >/dev/null; do
  [ "$SECONDS" -lt "$deadline" ] || fail "bookings have no outcome after $LIMIT s: $(stats)"
  sleep 0.1
done
show_stats

want="$(printf ' 202%.0s' $(seq "$places")) 429 429"
[ "$answers" = "$want" ] || fail "want $places times 202, then 429; does anybody else book?"
