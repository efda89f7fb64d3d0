package payments

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"boxoffice/internal/participant"
	"boxoffice/internal/participant/participanttest"
	"boxoffice/messaging"
	"boxoffice/messaging/inproc"
)

// A charge that is held at the gate is not forgotten, whether its handler runs
// or waits for its next try.
func TestResetRefusesWhileChargesAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := inproc.New(inproc.Options{})
		conn, others := server.Connect("payments"), server.Connect("others")
		r := newService(t, "sqlite:"+t.TempDir()+"/payments.db", conn, Config{
			Settings: participant.Settings{
				Lab: true, AllowedHosts: []string{"example.com"}, // httptest's
				Topology: messaging.TopologyDeclare, RetryDelays: []time.Duration{time.Second},
			},
			Bank: plain(),
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		synctest.Wait()
		r.post(t, "/lab/gate/close", "")
		id := newID()
		if err := participanttest.Anybody(t, others).Publish(ctx, seatReserved(id, affordable)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.expectProblem(t, "/lab/reset", "", http.StatusConflict)
		time.Sleep(gatePatience - participant.ResetPatience + 10*time.Millisecond) // it is between two tries
		r.expectProblem(t, "/lab/reset", "", http.StatusConflict)
		r.post(t, "/lab/gate/open", "")
		time.Sleep(aFewLooks + time.Second)
		r.expectRow(t, id, Succeeded, 1)
		r.post(t, "/lab/reset", "")
		r.expectGet(t, "/payments", `{"payments":[]}`)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_, _ = others.Close(context.Background()), conn.Close(context.Background())
	})
}
