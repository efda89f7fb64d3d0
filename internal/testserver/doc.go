// Package testserver runs private RabbitMQ and PostgreSQL servers for tests and
// benchmarks: on free loopback ports, in temp folders of their own, never on
// the default ports and never on a server that is already there.
//
// A server comes from the binaries that are installed, else from a Docker
// engine that answers. With neither, a test is skipped with one line that says
// what is missing. Environment variables change that:
//
//   - BOXOFFICE_TEST_REQUIRE=1: a missing server fails the test instead of
//     skipping it.
//   - BOXOFFICE_TEST_DOCKER=1: only Docker, whatever is installed.
//   - BOXOFFICE_TEST_RABBITMQ_IMAGE=rabbitmq:3.13-management: RabbitMQ from
//     Docker and from this image. It must have the management plugin enabled.
//
// Nothing stays behind: a server ends with the test that started it, shared
// ones with [Main], and all of them when the process dies, even by SIGKILL or
// by the timeout of go test. Data is written as in production: PostgreSQL keeps
// fsync on, so figures measured here are honest.
package testserver
