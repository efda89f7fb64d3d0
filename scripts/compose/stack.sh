# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# From nothing to the four bookings, and what every container has.

up || return
services=$(compose config --services)

equal "nothing was restarted on the way" \
  "$(for s in $services; do inspect "$s" '{{.RestartCount}}'; done | sort -u)" 0

for s in $services; do
  equal "$s: ports are published on 127.0.0.1 only" \
    "$(inspect "$s" '{{range .NetworkSettings.Ports}}{{range .}}{{println .HostIp}}{{end}}{{end}}' | grep -v '^$' | grep -vc '^127.0.0.1$')" 0
  equal "$s: healthy, restarts, limited memory and logs, no new privileges" \
    "$(inspect "$s" '{{.State.Health.Status}} {{.HostConfig.RestartPolicy.Name}} {{gt .HostConfig.Memory 0}} {{index .HostConfig.LogConfig.Config "max-size"}} {{.HostConfig.SecurityOpt}}')" \
    "healthy unless-stopped true 10m [no-new-privileges:true]"
done
for s in booking seats payments; do
  equal "$s: not root, read-only, without capabilities" \
    "$(inspect "$s" '{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}}')" "65532 true [ALL]"
done

check "scripts/book.sh gives the four outcomes" \
  diff <(BASE_URL=$booking scripts/book.sh 2>&1 | tr -s ' ') - <<'WANT'
olena seat 5 Confirmed
petro seat 5 Rejected seat is taken or does not exist
ivan seat 7 Cancelled insufficient funds
maria seat 7 Confirmed
WANT
reset
check "boxoffice demo gives the four outcomes" \
  diff <(box demo --url http://booking:5200 2>/dev/null | sed -n 1,4p | sed 's/ *[0-9]* ms//' | tr -s ' ') - <<'WANT'
olena seat 5 Confirmed
petro seat 5 Rejected seat is taken or does not exist
ivan seat 7 Cancelled insufficient funds
maria seat 7 Confirmed
WANT

link=$(compose exec -T booking boxoffice book --seat 9 --customer link --amount 10 | sed -n 's/^trace //p')
case $link in
"http://localhost:$JAEGER_PORT/trace/"*) pass "boxoffice book prints the link $link" ;;
*) fail "boxoffice book prints no link: $link" ;;
esac
check "the link's trace is in Jaeger" eventually 30 curl -fsS -o /dev/null "$jaeger/api/traces/${link##*/}"
verified "the four bookings"

compose restart booking >"$work/restart" 2>&1
check "after a restart of booking: ready" eventually 60 healthy booking
compose up -d --force-recreate --no-deps booking >"$work/recreate" 2>&1
check "a new container of booking: ready" eventually 60 healthy booking
equal "it has the bookings of the last one" "$(curl -s "$booking/bookings?limit=100" | jq '.bookings | length')" 5

check "down -v" down
equal "it leaves nothing" \
  "$(for kind in container volume network; do docker "$kind" ls -q --filter "label=com.docker.compose.project=$project"; done | wc -l)" 0
