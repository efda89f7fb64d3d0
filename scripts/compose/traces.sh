# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# One booking is one trace, in Jaeger, with what goes wrong in it.

up || return

# spans TRACE: its spans as "service name", sorted.
spans() {
  curl -fsS "$jaeger/api/traces/$1" |
    jq -r '.data[0] | .processes as $p | .spans[] | "\($p[.processID].serviceName) \(.operationName)"' | sort
}
# has TRACE SPAN…: all of these spans are there.
has() {
  local all
  all=$(spans "$1") || return 1
  shift
  for s; do grep -qxF "$s" <<<"$all" || return 1; done
}
count_is() { [ "$(spans "$1" | grep -cxF "$2")" = "$3" ]; }

nine=(
  "booking POST /bookings"
  "booking publish tickets.events BookingCreated"
  "seats process seats.BookingCreated"
  "seats publish tickets.events SeatReserved"
  "payments process payments.SeatReserved"
  "payments publish tickets.events PaymentFailed"
  "booking process booking.PaymentFailed"
  "seats process seats.PaymentFailed"
  "seats publish tickets.events SeatReleased"
)
b=$(book 7 ivan 1500)
id=$(jq -r .id <<<"$b") trace=$(jq -r .traceId <<<"$b")
equal "ivan is cancelled" "$(jq -r .status <<<"$b")" Cancelled
check "his booking is one trace with the nine spans" eventually 30 has "$trace" "${nine[@]}"
equal "its spans hang together" \
  "$(curl -s "$jaeger/api/traces/$trace" | jq '[.data[0].spans[] | select(.references == [])] | length')" 1
equal "three services" "$(spans "$trace" | cut -d' ' -f1 | sort -u | xargs)" "booking payments seats"

check "boxoffice trace prints it" box trace "$id" --url http://booking:5200
for s in "${nine[@]}"; do
  grep -q "${s#* } .* ${s%% *} " "$work/out" || fail "boxoffice trace lacks: $s"
done

b=$(book 1 retried 10 'seats.BookingCreated=fail*1')
trace=$(jq -r .traceId <<<"$b")
check "a retry is in the trace" eventually 30 count_is "$trace" "seats process seats.BookingCreated" 2
check "and the wait for it" eventually 30 has "$trace" "seats publish tickets.retry 1000ms.seats.BookingCreated"
check "and the fault" eventually 30 eval 'curl -fsS "$jaeger/api/traces/$trace" | finds "seats.BookingCreated=fail"'

b=$(curl -sS "$booking/bookings" -H 'Content-Type: application/json' -H 'X-Lab-Fault: payments.SeatReserved=poison' \
  -d '{"seat":2,"customer":"poisoned","amount":10}')
id=$(jq -r .id <<<"$b") trace=$(jq -r .traceId <<<"$b")
check "a poisoned message is parked" eventually 30 eval 'box dead list | finds "$id"'
check "it is redriven" box dead redrive --id "$id"
check "and its booking confirmed" eventually 30 booking_is "$id" '.status == "Confirmed"'
check "the redrive is in the trace" eventually 30 count_is "$trace" "payments process payments.SeatReserved" 2
verified "traces"
