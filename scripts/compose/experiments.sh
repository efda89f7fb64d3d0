# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# Each experiment of the lab, on running services.

up || return

# helped EXPERIMENT: does what it asks a person to do.
helped() {
  box experiment "$1" >"$work/experiment" 2>&1 &
  local experiment=$!
  if eventually 60 grep -q 'Stop the broker now' "$work/experiment"; then
    compose stop rabbitmq
    eventually 60 grep -q 'Start it again now' "$work/experiment"
    compose start rabbitmq
  fi
  wait "$experiment"
  local code=$?
  cat "$work/experiment"
  return "$code"
}

for name in $(box experiment list 2>/dev/null | cut -d ' ' -f 1); do
  box reset --timeout 2m >"$work/reset" 2>&1 || fail "reset before $name: $(tail -n 1 "$work/reset")"
  case $name in
  broker-outage) check "$name" helped "$name" ;;
  *) check "$name" box experiment "$name" ;;
  esac
done
verified "experiments"

export UNSAFE=no-tombstone
check "with a safety off: up" compose up -d --wait --wait-timeout 120
check "it is loud in the log" says seats 'UNSAFE'
reset
if box experiment late-compensation >"$work/unsafe" 2>&1; then fail "late-compensation without tombstones passes"; else
  check "late-compensation without tombstones fails" grep -qE '^ +invariants? .*broken' "$work/unsafe"
fi
