package main

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"boxoffice/internal/httpserver"
	"boxoffice/internal/telemetry"
)

// upLab shows, beside the booking service, what is only in this process: the
// latest traces, and what is parked on an embedded broker.
type upLab struct {
	service
	lab      http.Handler
	recorder *telemetry.Recorder
	host     *host
}

// withLab is a host's service with upLab around it. The broker is the host's,
// if it is an embedded one; hosts are the names that it may be asked by.
func withLab(h *host, recorder *telemetry.Recorder, embedded bool, hosts []string) service {
	u := &upLab{service: h.service, recorder: recorder, host: h}
	e := httpserver.New(httpserver.Options{Telemetry: h.telemetry, Lab: true, AllowedHosts: hosts})
	e.GET("/lab/traces/:id", u.getTrace)
	if embedded {
		e.GET("/lab/dead", u.getDead)
		e.POST("/lab/dead/redrive", u.postRedrive)
		e.POST("/lab/dead/drop", u.postDrop)
	}
	u.lab = e
	return u
}

// Handler serves the lab's paths, and leaves all others to the service.
func (u *upLab) Handler() http.Handler {
	inner := u.service.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lab/dead" || strings.HasPrefix(r.URL.Path, "/lab/dead/") || strings.HasPrefix(r.URL.Path, "/lab/traces/") {
			u.lab.ServeHTTP(w, r)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// Drain is the service's own.
func (u *upLab) Drain() {
	if d, ok := u.service.(drainer); ok {
		d.Drain()
	}
}

// traceJSON is the spans of a trace; none, if it is not kept.
type traceJSON struct {
	Spans []spanJSON `json:"spans"`
}

func (u *upLab) getTrace(c echo.Context) error {
	answer := traceJSON{Spans: []spanJSON{}}
	for _, s := range u.recorder.Trace(c.Param("id")) {
		answer.Spans = append(answer.Spans, toSpanJSON(s))
	}
	return c.JSON(http.StatusOK, answer)
}

type spanJSON struct {
	TraceID    string         `json:"traceId"`
	ID         string         `json:"id"`
	ParentID   string         `json:"parentId,omitempty"`
	Name       string         `json:"name"`
	Service    string         `json:"service"`
	Kind       string         `json:"kind"`
	Start      time.Time      `json:"start"`
	End        time.Time      `json:"end"`
	Attributes map[string]any `json:"attributes"`
	Events     []eventJSON    `json:"events,omitempty"`
	Error      string         `json:"error,omitempty"`
}

type eventJSON struct {
	Name       string         `json:"name"`
	Time       time.Time      `json:"time"`
	Attributes map[string]any `json:"attributes"`
}

func toSpanJSON(s telemetry.Span) spanJSON {
	j := spanJSON{
		TraceID: s.TraceID, ID: s.ID, ParentID: s.ParentID, Name: s.Name, Service: s.Service, Kind: s.Kind,
		Start: s.Start, End: s.End, Attributes: s.Attributes, Error: s.Error,
	}
	for _, e := range s.Events {
		j.Events = append(j.Events, eventJSON(e))
	}
	return j
}

func (j spanJSON) span() telemetry.Span {
	s := telemetry.Span{
		TraceID: j.TraceID, ID: j.ID, ParentID: j.ParentID, Name: j.Name, Service: j.Service, Kind: j.Kind,
		Start: j.Start, End: j.End, Attributes: j.Attributes, Error: j.Error,
	}
	for _, e := range j.Events {
		s.Events = append(s.Events, telemetry.SpanEvent(e))
	}
	return s
}
