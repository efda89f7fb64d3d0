// Package httpserver is what the HTTP side of every service has in common. It
// guarantees:
//
//   - Every error is an application/problem+json document (RFC 9457), a panic
//     included, and none tells a client about our internals.
//   - No body above 64 KiB is read.
//   - Every request but those to /live, /ready and /metrics is a span, named
//     after its route, and a measurement of its duration.
//   - [Serve] lets the requests that it took finish, within its grace.
package httpserver
