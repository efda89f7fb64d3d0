# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# Every fault of the lab, on one booking each.

export SEATS_TOTAL=1000
up || return

# ask SEAT AMOUNT FAULT: a booking with a fault script, not waited for; its id.
ask() {
  curl -sS "$booking/bookings" -H 'Content-Type: application/json' -H "X-Lab-Fault: $3" \
    -d "{\"seat\":$1,\"customer\":\"fault-$1\",\"amount\":$2}" | jq -r .id
}

restarted() { [ "$(inspect "$service" '{{.State.StartedAt}}')" != "$started" ]; }

seat=0
for queue in seats.BookingCreated payments.SeatReserved booking.PaymentSucceeded; do
  service=${queue%%.*}
  for fault in 'fail*2' drop drop-after-publish exit duplicate delay:2s; do
    seat=$((seat + 1))
    started=$(inspect "$service" '{{.State.StartedAt}}')
    id=$(ask "$seat" 10 "$queue=$fault")
    check "$queue=$fault: Confirmed" eventually 60 booking_is "$id" '.status == "Confirmed"'
    if [ "$fault" = exit ]; then
      check "$service died" eventually 20 restarted
      check "and came back by itself" eventually 60 healthy "$service"
    fi
  done
done
for queue in seats.PaymentFailed booking.PaymentFailed booking.SeatReleased; do
  service=${queue%%.*}
  seat=$((seat + 1))
  id=$(ask "$seat" 1500 "$queue=exit")
  check "$queue=exit: Cancelled, and the seat released" eventually 60 booking_is "$id" '.status == "Cancelled" and .seatReleased'
  check "$service came back" eventually 60 healthy "$service"
done
verified "faults"
