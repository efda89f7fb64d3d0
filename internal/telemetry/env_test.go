package telemetry

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
)

func TestEndpointAndProtocol(t *testing.T) {
	for _, test := range []struct {
		name, endpoint, protocol string
		vars                     []string
	}{
		{"nothing", "", protocolHTTP, nil},
		{"general", "http://c:4318/v1/traces", protocolHTTP, []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318"}},
		{"general with path", "http://c:4318/x/v1/traces", protocolHTTP, []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/x/"}},
		{"traces as it is", "http://t:1/y", protocolHTTP, []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:1/y"}},
		{"grpc", "http://c:4317", protocolGRPC, []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}},
		{"traces protocol wins", "http://c", protocolGRPC, []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc"}},
		{"exporter none", "", protocolHTTP, []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://c", "OTEL_TRACES_EXPORTER", "none"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := readEnvironment(env(test.vars...))
			if err != nil || got.endpoint != test.endpoint || got.protocol != test.protocol {
				t.Errorf("%q %q %v, want %q %q", got.endpoint, got.protocol, err, test.endpoint, test.protocol)
			}
		})
	}
}

func TestWrongVariablesAreNamed(t *testing.T) {
	wrong := []string{
		"OTEL_SDK_DISABLED", "maybe",
		"OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "ftp://user:hunter2@x",
		"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "tcp",
		"OTEL_TRACES_EXPORTER", "zipkin",
		"OTEL_TRACES_SAMPLER", "sometimes",
		"OTEL_RESOURCE_ATTRIBUTES", "a=1,b",
		"OTEL_BSP_SCHEDULE_DELAY", "1s",
		"OTEL_BSP_MAX_QUEUE_SIZE", "0",
		"OTEL_EXPORTER_OTLP_TIMEOUT", "-1",
		"OTEL_EXPORTER_OTLP_COMPRESSION", "zip",
		"OTEL_EXPORTER_OTLP_HEADERS", "hunter2",
		"OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere",
	}
	_, err := readEnvironment(env(wrong...))
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(wrong)/2 {
		t.Errorf("%d lines, want %d:\n%v", len(lines), len(wrong)/2, err)
	}
	for i := 0; i < len(wrong); i += 2 {
		if !strings.Contains(err.Error(), wrong[i]+"=") {
			t.Errorf("%s is not named", wrong[i])
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Error("a secret is shown")
	}
	if _, err := New(context.Background(), Options{Service: "x", Getenv: env("OTEL_TRACES_SAMPLER", "sometimes")}); err == nil {
		t.Error("New took a wrong variable")
	}
}

func TestSampler(t *testing.T) {
	for _, test := range []struct{ sampler, arg, want string }{
		{"", "", "ParentBased{root:AlwaysOnSampler"},
		{"always_off", "", "AlwaysOffSampler"},
		{"parentbased_always_off", "", "ParentBased{root:AlwaysOffSampler"},
		{"traceidratio", "0.25", "TraceIDRatioBased{0.25}"},
		{"parentbased_traceidratio", "0.5", "ParentBased{root:TraceIDRatioBased{0.5}"},
	} {
		got, err := readEnvironment(env("OTEL_TRACES_SAMPLER", test.sampler, "OTEL_TRACES_SAMPLER_ARG", test.arg))
		if err != nil || !strings.HasPrefix(got.sampler.Description(), test.want) {
			t.Errorf("%s: %s %v", test.sampler, got.sampler.Description(), err)
		}
	}
	for _, arg := range []string{"2", "-1", "NaN", "x"} {
		if _, err := readEnvironment(env("OTEL_TRACES_SAMPLER", "traceidratio", "OTEL_TRACES_SAMPLER_ARG", arg)); err == nil {
			t.Errorf("ratio %s was taken", arg)
		}
	}
}

func TestResource(t *testing.T) {
	vars := env("OTEL_SERVICE_NAME", "mine", "OTEL_RESOURCE_ATTRIBUTES", "team=red%20one,service.name=other,service.version=9")
	e, err := readEnvironment(vars)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		shared bool
		name   string
	}{{false, "mine"}, {true, "seats"}} {
		set := newResource(Options{Service: "seats", Instance: "i1", Version: "1", Shared: test.shared}, e).Set()
		for key, want := range map[attribute.Key]string{
			"service.name": test.name, "service.instance.id": "i1", "service.version": "9", "team": "red one",
		} {
			if v, _ := set.Value(key); v.AsString() != want {
				t.Errorf("%s is %q, want %q", key, v.AsString(), want)
			}
		}
	}
}
