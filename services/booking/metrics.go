package booking

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics are the door's and the sagas' numbers, as GET /metrics shows them.
type metrics struct {
	answers metric.Int64Counter
	sagas   metric.Float64Histogram
}

func (s *Service) newMetrics() *metrics {
	meter := s.tel.MeterProvider.Meter("boxoffice/booking")
	m := &metrics{} // the errors below are of malformed names only
	m.answers, _ = meter.Int64Counter("boxoffice.door.answers",
		metric.WithDescription("Answers to POST /bookings, by status."))
	m.sagas, _ = meter.Float64Histogram("boxoffice.saga.duration", metric.WithUnit("s"),
		metric.WithDescription("From acceptance to the outcome, by outcome."),
		metric.WithExplicitBucketBoundaries(.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300))
	bookings, _ := meter.Int64ObservableGauge("boxoffice.door.bookings",
		metric.WithDescription("Bookings in each budget of the door."))
	limits, _ := meter.Int64ObservableGauge("boxoffice.door.limit",
		metric.WithDescription("The limit of each budget of the door."))
	accepting, _ := meter.Int64ObservableGauge("boxoffice.door.accepting",
		metric.WithDescription("1 if bookings are taken, 0 while draining."))
	broker, _ := meter.Int64ObservableGauge("boxoffice.broker.up",
		metric.WithDescription("1 if the broker can be published to."))
	redriven, _ := meter.Int64ObservableCounter("boxoffice.bookings.redriven",
		metric.WithDescription("Redrives of overdue bookings by this replica."))
	stalled, _ := meter.Int64ObservableGauge("boxoffice.bookings.stalled",
		metric.WithDescription("Unfinished bookings, of all replicas, that are redriven no more."))
	conflicts, _ := meter.Int64ObservableCounter("boxoffice.bookings.conflicts",
		metric.WithDescription("Outcomes that contradicted their booking's."))
	_, _ = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		d := s.door.Stats()
		for budget, n := range map[string][2]int{
			"active": {d.Active, d.ActiveLimit}, "waiting": {d.Waiting, d.WaitingLimit}, "overdue": {d.Overdue, s.cfg.Limits.Overdue},
		} {
			by := metric.WithAttributes(attribute.String("budget", budget))
			o.ObserveInt64(bookings, int64(n[0]), by)
			o.ObserveInt64(limits, int64(n[1]), by)
		}
		o.ObserveInt64(accepting, oneIf(d.Accepting))
		o.ObserveInt64(broker, oneIf(s.broker.Ready() == nil))
		o.ObserveInt64(redriven, s.counts.redriven.Load())
		o.ObserveInt64(conflicts, s.counts.conflicts.Load())
		o.ObserveInt64(stalled, s.counts.stalled.Load())
		return nil
	}, bookings, limits, accepting, broker, redriven, conflicts, stalled)
	return m
}

func oneIf(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// answer counts one answer to POST /bookings.
func (m *metrics) answer(ctx context.Context, status int) {
	m.answers.Add(ctx, 1, metric.WithAttributes(attribute.String("status", strconv.Itoa(status))))
}

// saga records how long a booking took to its outcome.
func (m *metrics) saga(ctx context.Context, o Status, took time.Duration) {
	took = max(0, took) // the clock may have been set back meanwhile
	m.sagas.Record(ctx, took.Seconds(), metric.WithAttributes(attribute.String("outcome", string(o))))
}
