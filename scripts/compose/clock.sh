# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# A clock that jumps in the middle of 100 bookings. Containers have the clock of
# their machine, so this sets it for some seconds: only by COMPOSE_TEST_CLOCK=1,
# as root, on a machine that does nothing else.

if [ "${COMPOSE_TEST_CLOCK:-}" != 1 ]; then
  echo "not tried: it sets this machine's clock; COMPOSE_TEST_CLOCK=1 allows it"
  return
fi

# jump SECONDS: sets the clock ahead, or back.
jump() { date -s "@$(awk -v now="$(date +%s.%N)" -v by="$1" 'BEGIN { printf "%.3f", now + by }')"; }

# jumped SECONDS COMMAND…: does something in another time, and comes back from it.
jumped() {
  local by=$1
  shift
  jump "$by" || return
  "$@"
  local code=$?
  jump "$((-by))"
  return "$code"
}

export SEATS_TOTAL=1000
up || return

restart() { compose kill -s KILL booking && compose start booking && sleep 8; }

during "the clock is ten minutes ahead for a while" 100 jumped 600 sleep 8
reset
during "the clock is ten minutes behind for a while" 100 jumped -600 sleep 8
reset
during "booking restarts while the clock is ahead" 100 jumped 600 restart
reset
during "booking restarts while the clock is behind" 100 jumped -600 restart
check "nothing was parked" eval 'box dead list | finds "nothing is parked"'
check "no service was restarted by Docker" eval '[ "$(inspect seats "{{.RestartCount}}")$(inspect payments "{{.RestartCount}}")" = 00 ]'
