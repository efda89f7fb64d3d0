# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# Each user of the broker and of PostgreSQL has what it needs, and no more.

up || return
equal "the broker's users" "$(compose exec -T rabbitmq rabbitmqctl -q list_users --no-table-headers | cut -f1 | sort | xargs)" \
  "admin booking observer payments seats"
b=$(book 3 rights 10)
equal "with their rights the saga works" "$(jq -r .status <<<"$b")" Confirmed
export BOXOFFICE_TEST_BROKER=amqp://127.0.0.1:$RABBITMQ_PORT/
check "the users of the broker can do nothing else" \
  go test -count=1 -v -run '^(TestServicesMayDoNothingElse|TestSecondKeysAreChecked|TestObserverMayOnlyLook)$' ./e2e/rabbitmq
grep -oE '[a-z]+ was refused [0-9]+ attempts' "$work/out" | sed 's/^/      /'
unset BOXOFFICE_TEST_BROKER
equal "guest cannot connect" \
  "$(curl -s -o /dev/null -w '%{http_code}' -u guest:guest "http://127.0.0.1:$RABBITMQ_MANAGEMENT_PORT/api/overview")" 401

# reaches ROLE DATABASE
reaches() {
  compose exec -T -e PGPASSWORD="$1-lab" postgres psql -h postgres -U "$1" -d "$2" -Atc 'select 1' >"$work/psql" 2>&1
}
for role in booking seats payments; do
  for database in booking seats payments postgres template1; do
    if reaches "$role" "$database"; then got="may use"; else got="may not use"; fi
    if [ "$role" = "$database" ]; then want="may use"; else want="may not use"; fi
    equal "PostgreSQL: $role $want $database" "$got" "$want"
  done
done
if compose exec -T -e PGPASSWORD=wrong postgres psql -h postgres -U booking -d booking -c 'select 1' >"$work/psql" 2>&1; then
  fail "PostgreSQL takes a wrong password"
else
  pass "PostgreSQL refuses a wrong password"
fi
