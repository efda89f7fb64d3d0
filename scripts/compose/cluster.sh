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
