// Package messagingtest states the contract of [messaging.Broker] in tests,
// once for every driver: [Run] is the contract of the driver itself, and
// [RunOutcomes] what a [messaging.Consumer] makes of deliveries on top of it.
//
// Each clause has a broker of its own. Times are only ever checked as the
// least that something may take; the most is patience, after which a clause
// fails. What a broker cannot do is declared by its [Harness] and listed in
// the test's log, never skipped silently.
package messagingtest
