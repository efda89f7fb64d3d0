# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# compose.cluster.yml: RabbitMQ as three nodes, of which one is lost.

export SEATS_TOTAL=1000
overrides=(-f compose.cluster.yml)
up || return

queues() { compose exec -T "$1" rabbitmqctl -q list_queues name leader members --formatter json; }
all_on_three() { queues rabbitmq | jq -e 'length == 23 and all(.[]; .members | length == 3)'; }
check "each queue has three members" eventually 120 all_on_three

leader=$(queues rabbitmq | jq -r 'group_by(.leader) | max_by(length)[0].leader' | sed 's/^rabbit@//')
other=rabbitmq
[ "$leader" != rabbitmq ] || other=rabbitmq-2
during "kill $leader, which leads most queues" 200 compose kill -s KILL "$leader"
equal "its queues have other leaders" \
  "$(queues "$other" | jq --arg dead "rabbit@$leader" '[.[] | select(.leader == $dead)] | length')" 0
compose start "$leader" >"$work/start" 2>&1
check "it comes back" eventually 120 healthy "$leader"
verified "with all nodes again"

compose stop seats >"$work/stop" 2>&1 # who would take what is redriven
check "park 3000 messages" park 3000
check "they are parked" eventually 60 ready "$parked" 3000
at() { compose run --rm -T --no-deps -e "BROKER_URL=amqp://admin:admin-lab@$1:5672/" tools "${@:2}"; }
for node in rabbitmq rabbitmq-2 rabbitmq-3; do
  equal "dead list by way of $node shows all" "$(at "$node" dead list | grep -c '^seats.BookingCreated ')" 3000
done
node=rabbitmq-2
[ "$(queues rabbitmq | jq -r --arg q "$parked" '.[] | select(.name == $q).leader')" != rabbit@rabbitmq-2 ] || node=rabbitmq-3
id=$(compose run -d --no-deps -e "BROKER_URL=amqp://admin:admin-lab@$node:5672/" tools dead redrive seats.BookingCreated --rate 1/m 2>/dev/null)
check "a redrive by way of $node holds all" eventually 30 ready "$parked" 0
compose kill -s KILL "$node" >"$work/kill" 2>&1
docker kill -s KILL "$id" >>"$work/kill" 2>&1
docker rm -f "$id" >>"$work/kill" 2>&1
compose start "$node" >"$work/start" 2>&1
check "after the death of both, its messages are parked again" eventually 120 ready "$parked" 2999
