// Package inproc is a message broker inside the process, for running all
// services at once and for tests. It behaves as RabbitMQ with quorum queues
// does, as far as package messaging asks for it, and guarantees:
//
//   - A publish that returned nil is stored in every queue that it was bound
//     to, and stays there until a session acknowledges it, it expires, or it
//     is delivered too often. The last two move it to the queue's dead-letter
//     exchange; while no queue is bound there, it stays where it is.
//   - Messages are copied on the way in and on the way out: what one service
//     does to a message, no other sees.
//   - What a lost session had not acknowledged is at the front of its queue
//     again, in its old order, before anything else is delivered from it.
//   - Memory is bounded: publishers wait for room, as under RabbitMQ's alarm.
//   - Nothing polls and nothing sleeps: in a testing/synctest bubble it runs in
//     virtual time, if the Server was made there.
//
// Messages live as long as their [Server]. Where it differs from RabbitMQ: an
// observer does not make a key routable, and [Conn.Browse] does not count as a
// delivery.
package inproc
