package telemetry

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

type collector struct {
	coltrace.UnimplementedTraceServiceServer
	names chan string
}

func (c *collector) Export(_ context.Context, r *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse, error) {
	for _, rs := range r.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.names <- s.Name
			}
		}
	}
	return &coltrace.ExportTraceServiceResponse{}, nil
}

func TestExportOverGRPC(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{names: make(chan string, 1)}
	server := grpc.NewServer()
	coltrace.RegisterTraceServiceServer(server, c)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	exportOne(t, c.names, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
}

func TestExportOverHTTP(t *testing.T) {
	c := &collector{names: make(chan string, 1)}
	server := c.overHTTP()
	defer server.Close()
	exportOne(t, c.names, "OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
}

// overHTTP starts the collector as a server of OTLP over HTTP.
func (c *collector) overHTTP() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var req coltrace.ExportTraceServiceRequest
		if r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &req) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = c.Export(r.Context(), &req)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
}

func exportOne(t *testing.T, names <-chan string, vars ...string) {
	t.Helper()
	out := &logs{}
	tel := newTelemetry(t, Options{Getenv: env(vars...), LogOutput: out})
	_, s := tel.TracerProvider.Tracer("test").Start(context.Background(), "hello")
	s.End()
	if err := tel.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	select {
	case name := <-names:
		if name != "hello" {
			t.Errorf("exported %q", name)
		}
	default:
		t.Errorf("nothing was exported: %s", out)
	}
	if out.String() != "" {
		t.Errorf("logged %s", out)
	}
}

// Flush exports what the batcher would keep for long, and goes on afterwards.
func TestFlush(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "600000") // the SDK reads it by itself
	c := &collector{names: make(chan string, 2)}
	server := c.overHTTP()
	defer server.Close()
	tel := newTelemetry(t, Options{Getenv: env("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)})
	for _, name := range []string{"first", "second"} {
		_, s := tel.TracerProvider.Tracer("test").Start(t.Context(), name)
		s.End()
		if err := tel.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if len(c.names) != 1 {
			t.Fatalf("%d spans were exported", len(c.names))
		}
		if got := <-c.names; got != name {
			t.Errorf("exported %q, not %q", got, name)
		}
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// Where nothing is exported there is nothing to wait for.
func TestFlushOfNothing(t *testing.T) {
	for name, o := range map[string]Options{"nobody looks": {}, "only recorded": {Recorder: NewRecorder(1)}} {
		tel := newTelemetry(t, o)
		_, s := tel.TracerProvider.Tracer("test").Start(t.Context(), "hello")
		s.End()
		if err := tel.Flush(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnreachableCollector(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it accepts, and never answers
	tel := newTelemetry(t, Options{Getenv: env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())})
	for _, c := range []struct {
		name string
		send func(context.Context) error
	}{{"Flush", tel.Flush}, {"Shutdown", tel.Shutdown}} {
		_, s := tel.TracerProvider.Tracer("test").Start(context.Background(), "hello")
		s.End()
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		start := time.Now()
		err := c.send(ctx)
		cancel()
		if err == nil {
			t.Errorf("%s: lost spans are no error", c.name)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %s, with 50ms to do it", c.name, took)
		}
	}
}

func TestFailingExportIsLoggedNowAndThen(t *testing.T) {
	out := &logs{}
	e := newQuietExporter(t.Context(), nil, newTelemetry(t, Options{LogOutput: out}).Logger, "look at the port")
	for range 10 {
		e.note(io.ErrUnexpectedEOF, 5)
	}
	e.complained = time.Now().Add(-2 * complainEvery)
	e.note(io.ErrUnexpectedEOF, 5)
	e.note(nil, 5)
	e.note(nil, 5)
	text := out.String()
	if strings.Count(text, "cannot be exported") != 2 || strings.Count(text, "exported again") != 1 ||
		!strings.Contains(text, "lostSpans=55") || !strings.Contains(text, "look at the port") {
		t.Errorf("logged:\n%s", text)
	}
}
