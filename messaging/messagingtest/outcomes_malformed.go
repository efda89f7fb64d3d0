package messagingtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"boxoffice/messaging"
)

func malformed() []clause {
	return []clause{
		{"what cannot be decoded is parked at once and never handled", "", undecodableIsParked},
		{"unknown extra fields are ignored", "", extraFieldsAreIgnored},
	}
}

func undecodableIsParked(f *fixture) {
	b := f.declared("test")
	id := uuid.NewString()
	bodies := map[string]string{
		"empty":       "",
		"text":        "not JSON",
		"cut":         `{"orderId":"` + id + `","item":7`,
		"trailing":    fmt.Sprintf(`{"orderId":%q,"item":7,"reason":"r"} and more`, id),
		"array":       `[1,2,3]`,
		"null":        `null`,
		"no id":       `{"item":7,"reason":"r"}`,
		"bad id":      `{"orderId":"12","item":7,"reason":"r"}`,
		"nil id":      fmt.Sprintf(`{"orderId":%q,"item":7,"reason":"r"}`, uuid.Nil),
		"number id":   `{"orderId":12,"item":7,"reason":"r"}`,
		"text seat":   fmt.Sprintf(`{"orderId":%q,"item":"7","reason":"r"}`, id),
		"half seat":   fmt.Sprintf(`{"orderId":%q,"item":7.5,"reason":"r"}`, id),
		"no seat":     fmt.Sprintf(`{"orderId":%q,"reason":"r"}`, id),
		"seat 0":      fmt.Sprintf(`{"orderId":%q,"item":0,"reason":"r"}`, id),
		"no reason":   fmt.Sprintf(`{"orderId":%q,"item":7}`, id),
		"binary":      "\x00\xff\xfe",
		"huge":        fmt.Sprintf(`{"orderId":%q,"item":7,"reason":%q}`, id, strings.Repeat("r", 100_000)),
		"deep":        strings.Repeat("[", 20_000),
		"other event": fmt.Sprintf(`{"orderId":%q,"item":7,"reason":"r"}`, id),
	}
	for name, body := range bodies {
		m := messaging.Message{ID: name, Type: "PaymentRefused", Body: []byte(body)}
		if name == "other event" {
			m.Type = "ItemReserved"
		}
		f.publish(b, Shop().EventsExchange(), "PaymentRefused", m)
	}
	stop := f.serve(service{handle: func(_ context.Context, e in) ([]messaging.Event, error) {
		f.Errorf("handled %+v", e)
		return nil, nil
	}})
	parked := map[string]messaging.Message{}
	for range bodies {
		m := f.next(deadQueue).Message
		parked[m.ID] = m
	}
	stop()
	for name, body := range bodies {
		m, ok := parked[name]
		switch {
		case !ok:
			f.Errorf("%s was not parked", name)
		case string(m.Body) != body:
			f.Errorf("%s was parked with another body", name)
		case m.Header(messaging.HeaderReason) == "" || m.Header(messaging.HeaderService) != Stock || m.Attempt() != 1:
			f.Errorf("%s was parked with %v", name, m.Headers)
		}
	}
	f.expectQuiet(b)
}

func extraFieldsAreIgnored(f *fixture) {
	b := f.declared("test")
	id := uuid.New()
	f.publish(b, Shop().EventsExchange(), "PaymentRefused", messaging.Message{
		Body: fmt.Appendf(nil, `{"orderId":%q,"item":7,"reason":"r","new":{"a":[1]},"customer":null}`, id),
	})
	got := make(chan in, 10)
	stop := f.serve(service{handle: func(_ context.Context, e in) ([]messaging.Event, error) {
		got <- e
		return nil, nil
	}})
	if e := receive(f, got, "the event"); e != (in{OrderID: id, Item: 7, Reason: "r"}) {
		f.Errorf("handled %+v", e)
	}
	stop()
	f.expectQuiet(b)
}
