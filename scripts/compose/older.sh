# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# The oldest RabbitMQ of the 4 series.

export RABBITMQ_VERSION=4.0 SEATS_TOTAL=1000
up || return
equal "RabbitMQ" "$(curl -s -u admin:admin-lab "http://127.0.0.1:$RABBITMQ_MANAGEMENT_PORT/api/overview" | jq -r .rabbitmq_version | cut -d. -f1,2)" 4.0
check "scripts/book.sh" env BASE_URL="$booking" scripts/book.sh
export BOXOFFICE_TEST_BROKER=amqp://127.0.0.1:$RABBITMQ_PORT/
check "the users of the broker can do nothing else" \
  go test -count=1 -run '^(TestServicesMayDoNothingElse|TestSecondKeysAreChecked|TestObserverMayOnlyLook)$' ./e2e/rabbitmq
unset BOXOFFICE_TEST_BROKER
during "restart rabbitmq" 100 compose restart rabbitmq
