#!/usr/bin/env bash
# The door, in plain curl and jq: the bank's gate is closed, bookings are made
# until the door says no, and the gate is opened again. For a small door start
#
#   ADMISSION_ACTIVE=2 ADMISSION_WAITING=3 go run ./cmd/boxoffice up
set -euo pipefail

BOOKING=${BOOKING:-http://127.0.0.1:5200}
PAYMENTS=${PAYMENTS:-http://127.0.0.1:5202}

for tool in curl jq; do
  command -v "$tool" >/dev/null || { echo "door.sh: $tool is needed and not installed" >&2; exit 1; }
done

stats() { curl -fsS "$BOOKING/stats" | jq -c '{accepting, active, waiting, confirmed, rejected, throttled, unavailable}'; }

post() { # post SEAT: the status of one booking
  curl -sS -o /dev/null -w '%{http_code}' "$BOOKING/bookings" -H 'Content-Type: application/json' \
    -d "{\"seat\":$1,\"customer\":\"olena\",\"amount\":450}"
}

open_gate() { curl -fsS -X POST "$PAYMENTS/lab/gate/open"; }

curl -fsS -X POST "$PAYMENTS/lab/gate/close" ||
  { echo "door.sh: no payments service with LAB=on at $PAYMENTS; start: go run ./cmd/boxoffice up" >&2; exit 1; }
trap open_gate EXIT
echo "the gate is closed"

places=$(curl -fsS "$BOOKING/stats" | jq '.activeLimit + .waitingLimit')
[ "$places" -le 20 ] || { echo "door.sh: this door has $places places; start a small one as the first lines say" >&2; exit 1; }
for seat in $(seq $((places + 2))); do
  printf 'seat %-3s %s\n' "$seat" "$(post "$seat")"
done
stats

trap - EXIT
open_gate
echo "the gate is open"
for _ in $(seq 300); do
  [ "$(curl -fsS "$BOOKING/stats" | jq '.active + .waiting + .overdue')" = 0 ] && break
  sleep 0.1
done
stats
