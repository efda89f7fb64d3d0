package messagingtest

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/messaging"
)

func traces() []clause {
	return []clause{
		{"trace and baggage go on from event to event", "", traceGoesOn},
		{"trace and baggage go on through retries and parking", "", traceSurvivesRetries},
	}
}

const (
	traceID     = "0af7651916cd43dd8448eb211c80319c"
	traceparent = "00-" + traceID + "-b7ad6b7169203331-01"
	labFault    = "lab=stock.PaymentRefused"
)

func traced(f *fixture) messaging.Message {
	m := wire(f, newIn())
	m.Headers = map[string]any{"traceparent": traceparent, "tracestate": "vendor=1", "baggage": labFault}
	return m
}

// expectTrace fails unless m continues the trace: by a new span of it, that
// the service wrote when it published m.
func (f *fixture) expectTrace(m messaging.Message) {
	f.Helper()
	got := m.Header("traceparent")
	if !strings.HasPrefix(got, "00-"+traceID+"-") || got == traceparent {
		f.Errorf("traceparent is %q, want a new span of %s", got, traceID)
	}
	if m.Header("tracestate") != "vendor=1" || m.Header("baggage") != labFault {
		f.Errorf("tracestate is %q, baggage %q", m.Header("tracestate"), m.Header("baggage"))
	}
}

func traceGoesOn(f *fixture) {
	b := f.declared("test")
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", traced(f))
	f.serve(service{handle: func(ctx context.Context, e in) ([]messaging.Event, error) {
		if got := trace.SpanContextFromContext(ctx).TraceID().String(); got != traceID {
			f.Errorf("the handler runs in trace %s", got)
		}
		if got := baggage.FromContext(ctx).Member("lab").Value(); got != "stock.PaymentRefused" {
			f.Errorf("the handler's baggage is %q", got)
		}
		return []messaging.Event{outOf(e)}, nil
	}})
	f.expectTrace(f.next(outQueue).Message)
}

func traceSurvivesRetries(f *fixture) {
	b := f.declared("test")
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", traced(f))
	f.serve(service{retryDelays: []time.Duration{shortDelay}, handle: func(ctx context.Context, _ in) ([]messaging.Event, error) {
		if got := trace.SpanContextFromContext(ctx).TraceID().String(); got != traceID {
			f.Errorf("the handler runs in trace %s", got)
		}
		return nil, errBroken
	}})
	d := f.next(deadQueue)
	f.expectTrace(d.Message)
	if got := d.Header(messaging.HeaderTraceID); got != traceID {
		f.Errorf("parked with trace id %q", got)
	}
}
