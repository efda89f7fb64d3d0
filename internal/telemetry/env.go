package telemetry

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"boxoffice/internal/plain"
)

// environment is what OpenTelemetry's standard variables say.
type environment struct {
	disabled    bool
	endpoint    string // "": nothing is exported
	protocol    string // "grpc" or "http/protobuf"
	protocolSet bool
	sampler     sdktrace.Sampler
	serviceName string
	attributes  []attribute.KeyValue
}

// The protocols of OTLP that we speak.
const (
	protocolGRPC = "grpc"
	protocolHTTP = "http/protobuf"
)

// reader looks variables up and collects what is wrong with them. The SDK
// would ignore a wrong value, and its user would look for lost traces.
type reader struct {
	get  func(string) string
	errs []error
}

func (r *reader) value(name string) string { return strings.TrimSpace(r.get(name)) }

// wrong never prints a value itself: some are secrets.
func (r *reader) wrong(name, shown, allowed string) {
	r.errs = append(r.errs, fmt.Errorf("%s=%q %s", name, shown, allowed))
}

func (r *reader) oneOf(name string, allowed ...string) string {
	v := r.value(name)
	for _, a := range allowed {
		if v == "" || strings.EqualFold(v, a) {
			return strings.ToLower(v)
		}
	}
	r.wrong(name, v, "is not supported; use "+strings.Join(allowed, " or "))
	return ""
}

func readEnvironment(get func(string) string) (environment, error) {
	r := &reader{get: get}
	env := environment{
		disabled:    r.oneOf("OTEL_SDK_DISABLED", "true", "false") == "true",
		serviceName: r.value("OTEL_SERVICE_NAME"),
		attributes:  r.attributes("OTEL_RESOURCE_ATTRIBUTES"),
		sampler:     r.sampler(),
	}
	r.endpoint(&env)
	if r.oneOf("OTEL_TRACES_EXPORTER", "otlp", "none") == "none" {
		env.endpoint = ""
	}
	r.fineTuning()
	return env, errors.Join(r.errs...)
}

func (r *reader) endpoint(env *environment) {
	general := r.url("OTEL_EXPORTER_OTLP_ENDPOINT")
	traces := r.url("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	protocols := []string{protocolGRPC, protocolHTTP}
	protocol := r.oneOf("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", protocols...)
	if p := r.oneOf("OTEL_EXPORTER_OTLP_PROTOCOL", protocols...); protocol == "" {
		protocol = p
	}
	env.protocol, env.protocolSet = protocol, protocol != ""
	if !env.protocolSet {
		env.protocol = protocolHTTP
	}
	switch {
	case traces != nil:
		env.endpoint = traces.String()
	case general != nil && env.protocol == protocolHTTP:
		env.endpoint = general.JoinPath("v1", "traces").String()
	case general != nil:
		env.endpoint = general.String()
	}
}

func (r *reader) url(name string) *url.URL {
	v := r.value(name)
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		r.wrong(name, plain.Address(v), "is not a URL; use for example http://localhost:4318")
		return nil
	}
	return u
}

func (r *reader) sampler() sdktrace.Sampler {
	names := []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}
	name := r.oneOf("OTEL_TRACES_SAMPLER", names...)
	ratio := 1.0
	if arg := r.value("OTEL_TRACES_SAMPLER_ARG"); arg != "" && strings.HasSuffix(name, "traceidratio") {
		var err error
		if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			r.wrong("OTEL_TRACES_SAMPLER_ARG", arg, "is not a ratio; use a number from 0 to 1")
			ratio = 1
		}
	}
	root := sdktrace.AlwaysSample()
	switch {
	case strings.HasSuffix(name, "always_off"):
		root = sdktrace.NeverSample()
	case strings.HasSuffix(name, "traceidratio"):
		root = sdktrace.TraceIDRatioBased(ratio)
	}
	if name == "" || strings.HasPrefix(name, "parentbased_") {
		return sdktrace.ParentBased(root)
	}
	return root
}

func (r *reader) attributes(name string) []attribute.KeyValue {
	var list []attribute.KeyValue
	for pair := range strings.SplitSeq(r.value(name), ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, raw, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(raw))
		if key = strings.TrimSpace(key); !ok || key == "" || err != nil {
			r.wrong(name, r.value(name), "is not a list of attributes; use for example deployment.environment.name=test,team=red")
			return nil
		}
		list = append(list, attribute.String(key, value))
	}
	return list
}

// fineTuning checks what the SDK and the exporter read by themselves.
func (r *reader) fineTuning() {
	for _, name := range []string{
		"OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
	} {
		r.whole(name)
	}
	for _, kind := range []string{"", "TRACES_"} {
		prefix := "OTEL_EXPORTER_OTLP_" + kind
		r.whole(prefix + "TIMEOUT")
		r.oneOf(prefix+"COMPRESSION", "gzip", "none")
		r.oneOf(prefix+"INSECURE", "true", "false")
		for _, file := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
			if path := r.value(prefix + file); path != "" {
				if info, err := os.Stat(path); err != nil || info.IsDir() {
					r.wrong(prefix+file, path, "is not a file")
				}
			}
		}
		for pair := range strings.SplitSeq(r.value(prefix+"HEADERS"), ",") {
			if key, _, ok := strings.Cut(pair, "="); strings.TrimSpace(pair) != "" && (!ok || strings.TrimSpace(key) == "") {
				r.wrong(prefix+"HEADERS", "…", "is not a list of headers; use for example api-key=secret,tenant=red")
				break
			}
		}
	}
}

func (r *reader) whole(name string) {
	v := r.value(name)
	if n, err := strconv.Atoi(v); v != "" && (err != nil || n <= 0) {
		r.wrong(name, v, "is not a whole number above 0")
	}
}
