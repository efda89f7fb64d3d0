// Package messaging is for services that agree by events, without a central
// coordinator: a choreographed saga. It knows neither a domain nor a broker
// client, and can be copied into another project as it is, with its subfolders.
//
// A [System] says which service publishes and consumes which [Event]; the
// topology, the queues and the rights follow from it. A service has a
// [Publisher], and a [Consumer] with one handler for each event that it
// consumes. On every broker that implements [Broker] this is guaranteed:
//
//   - An event that [Publisher.Publish] reported as published is stored in
//     every queue that is bound to it; anything else is an error.
//   - A delivery is acknowledged only after the events that its handler
//     returned are published, so that an unacknowledged delivery is the
//     consumer's outbox: a crash anywhere redelivers it.
//   - Delivery is at least once, in no particular order. Handlers must repeat
//     their outcome for an event they have seen.
//   - A failing message never blocks another: it waits in a queue of its
//     service and delay, and is parked after the last delay. See [Consumer].
//   - What can never be published or consumed is parked, not held for ever.
//   - One run of the saga is one trace: the W3C context travels in message
//     headers, and so do the headers in [System.Carry].
//
// Whoever begins a saga has no delivery behind it, and so needs an outbox of its
// own: commit what was asked for together with the fact that its first event is
// still to be published, answer, then publish from that row until the broker has
// confirmed, also after a restart. The example to read is booking:
// services/booking/book.go commits the row, starter.go publishes from it.
//
// The drivers are in the folders below: rabbitmq, and inproc for tests and demos.
// messagingtest states the contract that a driver must pass.
package messaging
