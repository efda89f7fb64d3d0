// Package e2e tests the built binary from the outside, as its users run it: the
// three services as processes of their own on a real RabbitMQ and a real
// PostgreSQL, killed, stopped and cut off in the middle of their work, and the
// commands. It has tests only.
package e2e
