// Package messaging is the contract by which the services talk: the events,
// the topology, and what becomes of a delivery. It guarantees, on every
// broker that implements [Broker]:
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
//   - One booking is one trace: the W3C context travels in message headers.
//
// It knows no service and no broker client; drivers live in the packages
// below it, and messagingtest states the contract that they must pass.
package messaging
