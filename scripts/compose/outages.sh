# shellcheck shell=bash disable=SC2034,SC2016,SC2154 # sourced after lib.sh
# What each container may do in the middle of 100 bookings.

export SEATS_TOTAL=1000
up || return

during "restart rabbitmq" 100 compose restart rabbitmq
reset
during "kill payments" 100 eval 'compose kill -s KILL payments && sleep 3 && compose start payments'
reset
during "pause seats" 100 eval 'compose pause seats && sleep 5 && compose unpause seats'
reset
during "stop postgres" 100 eval 'compose stop postgres && sleep 5 && compose start postgres'
reset
during "kill booking" 100 eval 'compose kill -s KILL booking && sleep 2 && compose start booking'
