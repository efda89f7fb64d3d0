// Package load drives the door of a booking service, and measures what comes
// out of it. It guarantees:
//
//   - In an open loop arrivals keep their schedule whatever the answers are,
//     and latency counts from the scheduled time, so that a stall is seen by
//     all who would have met it. Who could not be sent, because too many
//     requests were outstanding, is counted.
//   - A closed loop has so many clients, each of which makes its next booking
//     when it has the outcome of the last.
//   - A saga takes from acceptance to outcome by the service's own clock, so
//     that how often we look does not matter.
//   - Memory does not grow with the number of requests.
package load
