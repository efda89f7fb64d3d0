# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# Every fault of the lab, on one booking each.

export SEATS_TOTAL=1000
up || return
seat=0
for queue in seats.BookingCreated payments.SeatReserved booking.PaymentSucceeded; do
  service=${queue%%.*}
  for fault in 'fail*2' drop drop-after-publish exit duplicate delay:2s; do
    seat=$((seat + 1))
    started=$(inspect "$service" '{{.State.StartedAt}}')
    b=$(book "$seat" "fault-$seat" 10 "$queue=$fault")
    id=$(jq -r .id <<<"$b")
    check "$queue=$fault: Confirmed" eventually 60 booking_is "$id" '.status == "Confirmed"'
    if [ "$fault" = exit ]; then
      if [ "$(inspect "$service" '{{.State.StartedAt}}')" != "$started" ]; then pass "$service died"; else fail "$service did not die"; fi
      check "$service came back by itself" eventually 60 healthy "$service"
    fi
  done
done
for queue in seats.PaymentFailed booking.PaymentFailed booking.SeatReleased; do
  service=${queue%%.*}
  seat=$((seat + 1))
  b=$(book "$seat" "fault-$seat" 1500 "$queue=exit")
  id=$(jq -r .id <<<"$b")
  check "$queue=exit: Cancelled, and the seat released" eventually 60 booking_is "$id" '.status == "Cancelled" and .seatReleased'
  check "$service came back by itself" eventually 60 healthy "$service"
done
verified "faults"
