#!/usr/bin/env bash
# The four bookings, in plain curl and jq: one confirmed, one rejected, one
# cancelled, and one more for the seat that the cancelled one gave back.
#
#   BASE_URL=http://127.0.0.1:5200 scripts/book.sh
set -euo pipefail

BASE_URL=${BASE_URL:-http://127.0.0.1:5200}
LIMIT=${LIMIT:-30} # seconds to wait for an outcome

fail() {
  echo "book.sh: $*" >&2
  exit 1
}

for tool in curl jq; do
  command -v "$tool" >/dev/null || fail "$tool is needed and not installed"
done

curl -fsS -o /dev/null "$BASE_URL/live" ||
  fail "no booking service answers at $BASE_URL; start one with: go run ./cmd/boxoffice up"

# book CUSTOMER SEAT AMOUNT: asks for a seat and prints the booking's id.
book() {
  local response status body
  response=$(
    curl -sS -w '\n%{http_code}' "$BASE_URL/bookings" \
      -H 'Content-Type: application/json' \
      -d "$(jq -n --arg customer "$1" --argjson seat "$2" --argjson amount "$3" \
        '{$seat, $customer, $amount}')"
  )
  status=${response##*$'\n'}
  body=${response%$'\n'*}
  [ "$status" = 202 ] || fail "POST /bookings for $1 answered $status: $body"
  jq -r .id <<<"$body"
}

# wait_for ID: waits until the booking is finished and prints it as JSON. A
# cancelled one is finished when its seat is free again.
wait_for() {
  local deadline=$((SECONDS + LIMIT)) booking
  while :; do
    booking=$(curl -fsS "$BASE_URL/bookings/$1") || fail "GET /bookings/$1 failed"
    if jq -e '.status != "Pending" and (.status != "Cancelled" or .seatReleased)' <<<"$booking" >/dev/null; then
      echo "$booking"
      return
    fi
    [ "$SECONDS" -lt "$deadline" ] || fail "booking $1 has no outcome after $LIMIT s: $booking"
    sleep 0.1
  done
}

# show BOOKING: one aligned line, with the reason at the end where there is one.
show() {
  local customer seat status reason
  IFS=$'\t' read -r customer seat status reason < <(
    jq -r '[.customer, .seat, .status, .reason // ""] | @tsv' <<<"$1"
  )
  if [ -n "$reason" ]; then
    printf '%-6s seat %-2s %-9s  %s\n' "$customer" "$seat" "$status" "$reason"
  else
    printf '%-6s seat %-2s %s\n' "$customer" "$seat" "$status"
  fi
}

taken=
free_before() { # free_before BOOKING: notes a seat that somebody else had
  [ "$(jq -r .status <<<"$1")" != Rejected ] || taken+="${taken:+, }seat $(jq -r .seat <<<"$1")"
}

id=$(book olena 5 450)
booking=$(wait_for "$id")
show "$booking" # Confirmed
free_before "$booking"

id=$(book petro 5 450)
booking=$(wait_for "$id")
show "$booking" # Rejected: olena has the seat

id=$(book ivan 7 1500)
booking=$(wait_for "$id")
show "$booking" # Cancelled: over the card's limit, and the seat is released
free_before "$booking"

id=$(book maria 7 600)
booking=$(wait_for "$id")
show "$booking" # Confirmed: ivan's seat was free again

[ -z "$taken" ] || echo "book.sh: not free when it began: $taken; sold seats are freed by: boxoffice reset" >&2
