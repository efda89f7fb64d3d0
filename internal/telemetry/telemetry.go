package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"boxoffice/internal/incident"
)

// Options say what the telemetry of one service looks like.
type Options struct {
	Service  string // its name in traces and logs: booking, seats, payments
	Instance string // which replica of it
	Version  string
	// Shared says that other services run in this process: every text log line
	// names its service, and OTEL_SERVICE_NAME, being one name, is not applied.
	Shared bool

	LogLevel  slog.Level
	LogFormat string    // "text" (the default) or "json"
	LogOutput io.Writer // nil: os.Stderr; must bear concurrent writes when it is shared

	// Recorder, if set, is given every span, sampled or not.
	Recorder *Recorder
	// Getenv looks up the OTEL_ variables; nil: os.Getenv. The SDK reads its
	// fine tuning (OTEL_BSP_…, headers, certificates) from the process itself.
	Getenv func(string) string
}

// Telemetry is what one service observes itself with.
type Telemetry struct {
	Service        string
	Logger         *slog.Logger
	Incidents      *incident.Log // what is wrong for a while, in few lines
	TracerProvider trace.TracerProvider
	MeterProvider  *sdkmetric.MeterProvider
	Propagator     propagation.TextMapPropagator
	MetricsHandler http.Handler // the service's metrics, as Prometheus reads them

	shutdown func(context.Context) error
}

// New sets up the telemetry of one service. Its errors name the variable that
// is wrong, one mistake a line.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.LogOutput == nil {
		o.LogOutput = os.Stderr
	}
	env, err := readEnvironment(o.Getenv)
	if err != nil {
		return nil, err
	}
	logger, err := newLogger(o)
	if err != nil {
		return nil, err
	}
	handleErrors(logger)
	res := newResource(o, env)
	tracers, stopTracing, err := newTracing(ctx, o, env, res, logger)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	meters, handler, err := newMetrics(res)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("metrics: %w", err), stopTracing(ctx))
	}
	incidents := incident.New(logger)
	return &Telemetry{
		Service:        o.Service,
		Logger:         logger,
		Incidents:      incidents,
		TracerProvider: tracers,
		MeterProvider:  meters,
		Propagator:     propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
		MetricsHandler: handler,
		shutdown: func(ctx context.Context) error {
			incidents.Close()
			return errors.Join(stopTracing(ctx), meters.Shutdown(ctx))
		},
	}, nil
}

// Flush exports the spans that have ended, for as long as ctx lasts. Where
// nothing is exported it returns at once.
func (t *Telemetry) Flush(ctx context.Context) error {
	provider, ok := t.TracerProvider.(*sdktrace.TracerProvider)
	if !ok {
		return nil
	}
	if err := provider.ForceFlush(ctx); err != nil {
		return fmt.Errorf("telemetry flush: %w", err)
	}
	return nil
}

// Shutdown exports what is still buffered, for as long as ctx lasts, and stops.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	if err := t.shutdown(ctx); err != nil {
		return fmt.Errorf("telemetry shutdown: %w", err)
	}
	return nil
}

func newResource(o Options, env environment) *resource.Resource {
	name := o.Service
	if env.serviceName != "" && !o.Shared {
		name = env.serviceName
	}
	own := []attribute.KeyValue{semconv.ServiceName(name), semconv.ServiceNamespace("boxoffice")}
	if o.Instance != "" {
		own = append(own, semconv.ServiceInstanceID(o.Instance))
	}
	if o.Version != "" {
		own = append(own, semconv.ServiceVersion(o.Version))
	}
	own = append(own, env.attributes...) // the later one of a key wins: people may override all but what follows
	own = append(own, semconv.ServiceName(name),
		semconv.TelemetrySDKName("opentelemetry"), semconv.TelemetrySDKLanguageGo, semconv.TelemetrySDKVersion(sdkVersion()))
	return resource.NewWithAttributes(semconv.SchemaURL, own...)
}

// newTracing picks the cheapest provider that does what is asked for.
func newTracing(
	ctx context.Context, o Options, env environment, res *resource.Resource, logger *slog.Logger,
) (trace.TracerProvider, func(context.Context) error, error) {
	exporting := env.endpoint != "" && !env.disabled
	if !exporting && o.Recorder == nil {
		return &idProvider{}, func(context.Context) error { return nil }, nil
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(res)}
	sampler := env.sampler
	if o.Recorder != nil {
		sampler = recordAll{sampler}
		options = append(options, sdktrace.WithSpanProcessor(recorderProcessor{o.Recorder}))
	}
	abort := context.CancelFunc(func() {})
	if exporting {
		exporter, err := newExporter(ctx, env)
		if err != nil {
			return nil, nil, err
		}
		quiet := newQuietExporter(ctx, exporter, logger, env.hint())
		abort = quiet.abort
		options = append(options, sdktrace.WithBatcher(quiet))
	}
	provider := sdktrace.NewTracerProvider(append(options, sdktrace.WithSampler(sampler))...)
	return provider, func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, abort) // an export in flight does not outlive ctx
		defer stop()
		return provider.Shutdown(ctx)
	}, nil
}
