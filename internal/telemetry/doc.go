// Package telemetry gives one service its logger, tracer, meter and context
// propagation, configured by OpenTelemetry's own variables. It guarantees:
//
//   - Nothing is global but where OpenTelemetry's own errors are logged: several
//     services in one process do not share or overwrite each other's providers.
//   - Every span has ids, and they travel, whether or not anything is exported.
//     Without an endpoint and a [Recorder] a span costs its ids and no more.
//   - A collector that is down never fails, slows or floods a service: its
//     errors are logged at most once a minute.
//   - [Telemetry.Shutdown] flushes, and ends with its context.
package telemetry
