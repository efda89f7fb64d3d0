package e2e_test

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// span is a span as it arrived, with the attributes of its process.
type span struct {
	*tracepb.Span
	attributes, resource map[string]any
}

func (s span) service() any { return s.resource["service.name"] }

// collector receives OTLP over gRPC.
type collector struct {
	collectorpb.UnimplementedTraceServiceServer
	address string

	mu    sync.Mutex
	spans []span
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{address: l.Addr().String()}
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, c)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return c
}

// Export is what exporters call.
func (c *collector) Export(
	_ context.Context, r *collectorpb.ExportTraceServiceRequest,
) (*collectorpb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, process := range r.GetResourceSpans() {
		resource := attributes(process.GetResource().GetAttributes())
		for _, scope := range process.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, span{s, attributes(s.GetAttributes()), resource})
			}
		}
	}
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func attributes(list []*commonpb.KeyValue) map[string]any {
	m := make(map[string]any, len(list))
	for _, a := range list {
		switch v := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			m[a.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[a.GetKey()] = v.IntValue
		case *commonpb.AnyValue_BoolValue:
			m[a.GetKey()] = v.BoolValue
		default:
			m[a.GetKey()] = a.GetValue().String()
		}
	}
	return m
}

// named are the spans of a trace that have a name, in order of start.
func (c *collector) named(id, name string) (found []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if hex.EncodeToString(s.GetTraceId()) == id && s.GetName() == name {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.GetStartTimeUnixNano(), b.GetStartTimeUnixNano()) })
	return found
}

// trace waits until n spans of a trace have arrived, and returns them by name.
// Two of one name fail the test.
func (c *collector) trace(t *testing.T, id string, n int) map[string]span {
	t.Helper()
	var found map[string]span
	eventually(t, "wait for the trace "+id, func(context.Context) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		found = map[string]span{}
		for _, s := range c.spans {
			if hex.EncodeToString(s.GetTraceId()) != id {
				continue
			}
			if _, ok := found[s.GetName()]; ok {
				t.Errorf("the trace has two spans %q", s.GetName())
			}
			found[s.GetName()] = s
		}
		if len(found) < n {
			return fmt.Errorf("it has %d spans, not %d", len(found), n)
		}
		return nil
	})
	return found
}
