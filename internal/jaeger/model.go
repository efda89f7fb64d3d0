package jaeger

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"boxoffice/internal/plain"
	"boxoffice/internal/telemetry"
)

// answer is what Jaeger says to GET /api/traces/{id}.
type answer struct {
	Data []struct {
		Spans     []span `json:"spans"`
		Processes map[string]struct {
			ServiceName string `json:"serviceName"`
		} `json:"processes"`
	} `json:"data"`
	Errors []struct {
		Message string `json:"msg"`
	} `json:"errors"`
}

type span struct {
	TraceID    string `json:"traceID"`
	SpanID     string `json:"spanID"`
	Name       string `json:"operationName"`
	References []struct {
		Type    string `json:"refType"`
		TraceID string `json:"traceID"`
		SpanID  string `json:"spanID"`
	} `json:"references"`
	ParentID  string `json:"parentSpanID"` // of old versions
	Start     int64  `json:"startTime"`    // microseconds since 1970
	Duration  int64  `json:"duration"`     // microseconds
	Tags      []tag  `json:"tags"`
	ProcessID string `json:"processID"`
	Logs      []struct {
		Time   int64 `json:"timestamp"` // microseconds since 1970
		Fields []tag `json:"fields"`
	} `json:"logs"`
}

type tag struct {
	Key   string          `json:"key"`
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

// said is the reason that the answer gives, to append.
func (a answer) said() string {
	if len(a.Errors) == 0 {
		return ""
	}
	return ": " + plain.Short(a.Errors[0].Message, 300)
}

// spans are the spans of the answer. Jaeger may have stored one twice: it was
// exported again, as its first export was not acknowledged.
func (a answer) spans() []telemetry.Span {
	var list []telemetry.Span
	seen := map[string]bool{}
	for _, trace := range a.Data {
		for _, s := range trace.Spans {
			if !seen[s.SpanID] {
				seen[s.SpanID] = true
				list = append(list, s.convert(trace.Processes[s.ProcessID].ServiceName))
			}
		}
	}
	return list
}

// convert undoes what Jaeger does to spans of OpenTelemetry: it makes tags of
// kind, status and scope.
func (s span) convert(service string) telemetry.Span {
	out := telemetry.Span{
		TraceID: s.TraceID, ID: s.SpanID, ParentID: s.ParentID, Name: s.Name, Service: service, Kind: "internal",
		Start: micros(s.Start), End: micros(s.Start + s.Duration), Attributes: map[string]any{},
	}
	for _, r := range s.References {
		if r.Type == "CHILD_OF" && r.TraceID == s.TraceID {
			out.ParentID = r.SpanID
		}
	}
	failed, reason := false, ""
	for _, t := range s.Tags {
		switch t.Key {
		case "span.kind":
			out.Kind = t.text()
		case "error":
			failed = failed || t.text() == "true"
		case "otel.status_code":
			failed = failed || t.text() == "ERROR"
		case "otel.status_description":
			reason = t.text()
		case "otel.scope.name", "otel.scope.version", "internal.span.format":
		default:
			out.Attributes[t.Key] = t.value()
		}
	}
	if failed {
		out.Error = cmp.Or(reason, "failed")
	}
	for _, l := range s.Logs {
		event := telemetry.SpanEvent{Time: micros(l.Time), Attributes: map[string]any{}}
		for _, f := range l.Fields {
			if f.Key == "event" {
				event.Name = f.text()
			} else {
				event.Attributes[f.Key] = f.value()
			}
		}
		out.Events = append(out.Events, event)
	}
	return out
}

func micros(n int64) time.Time { return time.UnixMicro(n).UTC() }

// text is the value as text: some versions write every value as a string.
func (t tag) text() string {
	var text string
	if json.Unmarshal(t.Value, &text) == nil {
		return text
	}
	return string(bytes.TrimSpace(t.Value))
}

// value is the value as its type says, or else as text.
func (t tag) value() any {
	text := t.text()
	switch t.Type {
	case "bool":
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	case "int64":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case "float64":
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	}
	return text
}
