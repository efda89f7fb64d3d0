package telemetry

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
)

// newMetrics gives a service a registry of its own.
func newMetrics(res *resource.Resource) (*sdkmetric.MeterProvider, http.Handler, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		return nil, nil, err
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithResource(res),
		sdkmetric.WithView(boundedHTTP, withoutBodySizes),
		// The attributes that the view drops would go into exemplars, and be too long for Prometheus.
		sdkmetric.WithExemplarFilter(exemplar.AlwaysOffFilter))
	return provider, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), nil
}

// boundedHTTP keeps the attributes that have few values: the Host header,
// which anyone may make up, is not one of them.
func boundedHTTP(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	if i.Name != "http.server.request.duration" {
		return sdkmetric.Stream{}, false
	}
	return sdkmetric.Stream{
		Name: i.Name, Description: i.Description, Unit: i.Unit,
		AttributeFilter: attribute.NewAllowKeysFilter("http.request.method", "http.route", "http.response.status_code"),
	}, true
}

// withoutBodySizes drops two histograms that say nothing about small bodies.
func withoutBodySizes(i sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	drop := i.Name == "http.server.request.body.size" || i.Name == "http.server.response.body.size"
	return sdkmetric.Stream{Name: i.Name, Aggregation: sdkmetric.AggregationDrop{}}, drop
}
