# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# compose.scale.yml: several of each.

export SEATS_TOTAL=1000 SAGA_DEADLINE=40s
overrides=(-f compose.scale.yml)
up --scale seats=2 --scale payments=3 || return
equal "replicas of seats, payments and booking" \
  "$(for s in seats payments booking booking-2; do compose ps -q "$s" | wc -l; done | xargs)" "2 3 1 1"
second=http://127.0.0.1:$BOOKING_2_PORT
equal "each booking has its own name" "$(for u in "$booking" "$second"; do curl -s "$u/stats" | jq -r .instance; done | xargs)" "booking booking-2"

box load --url http://booking-2:5200 --allow-remote --mode open --rate 10 --count 50 --seats 400 --seat-choice random --settle 2m --json >"$work/load2" 2>&1 &
other=$!
box load --url http://booking:5200 --allow-remote --mode open --rate 10 --count 50 --seats 400 --seat-choice random --settle 2m --json >"$work/load1" 2>&1
wait "$other"
equal "both doors took bookings" \
  "$(for u in "$booking" "$second"; do curl -s "$u/stats" | jq '.accepted > 0'; done | xargs)" "true true"
idle=0
for s in seats payments; do
  for c in $(compose ps -q "$s"); do docker logs "$c" 2>&1 | finds '← ' || idle=$((idle + 1)); done
done
equal "every replica of seats and payments took its share" "$idle" 0
verified "scaled"

# The second door dies with bookings behind it, started and waiting.
ADMISSION_ACTIVE=4 compose up -d --no-deps booking-2 >"$work/up" 2>&1
check "booking-2 is ready with a small door" eventually 60 healthy booking-2
compose pause payments >"$work/pause" 2>&1
accepted=()
for n in $(seq 501 512); do
  accepted+=("$(curl -sS "$second/bookings" -H 'Content-Type: application/json' -d "{\"seat\":$n,\"customer\":\"left\",\"amount\":10}" | jq -r .id)")
done
compose kill -s KILL booking-2 >"$work/kill" 2>&1
compose rm -f booking-2 >"$work/rm" 2>&1
compose unpause payments >"$work/unpause" 2>&1
all_done() {
  local id
  for id in "${accepted[@]}"; do booking_is "$id" '.status != "Pending"' || return 1; done
}
check "booking-2 is gone for good, its ${#accepted[@]} bookings are not" eventually 240 all_done
verified "without booking-2"
