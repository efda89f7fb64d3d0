package messaging

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"boxoffice/messaging/internal/streak"
)

// calm is how long nothing must be held before holding counts as over: a
// service that is short of something holds now this, now that.
const calm = 5 * time.Second

// holds are the deliveries of one queue that a service holds. It says when it
// begins to hold any and when it holds none any more: how many there are is a
// matter of traffic, and each would say the same.
type holds struct {
	log     *slog.Logger
	queue   string
	keyName string
	absence time.Duration // of what waits outside; it will be back

	mu         sync.Mutex
	streak     streak.Streak // of tries that held a delivery
	now        map[*inFlight]bool
	deliveries int         // since it began
	outside    int         // of them, that went on to wait in a wait queue
	over       *time.Timer // runs while none is held; then that is said
}

// tried counts a try after which in is held.
func (h *holds) tried(ctx context.Context, in *inFlight, err error, next time.Duration) {
	h.log.DebugContext(ctx, "held; trying again", "queue", h.queue, h.keyName, clip(in.d.CorrelationID, 100),
		"error", err, "in", next.Round(time.Millisecond))
	h.mu.Lock()
	defer h.mu.Unlock()
	if !in.held {
		in.held = true
		if h.now == nil {
			h.now = make(map[*inFlight]bool)
		}
		h.now[in] = true
		h.deliveries++
		if h.over != nil {
			h.over.Stop()
			h.over = nil
		}
	}
	text := strings.Join(strings.Fields(err.Error()), " ") // some drivers write several lines
	switch r, say := h.streak.Failed(err); {
	case say && r.Tries == 1:
		h.log.WarnContext(ctx, "holding deliveries, until what they need works again", "queue", h.queue,
			h.keyName, clip(in.d.CorrelationID, 100), "error", text)
	case say:
		h.log.WarnContext(ctx, "still holding deliveries", "queue", h.queue, "held", len(h.now), "held so far", h.deliveries,
			"waiting outside", h.outside, "tries", r.Tries, "since", r.Since, "error", text)
	}
}

// longest returns for how long the oldest of the held deliveries has been here.
func (h *holds) longest() (d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for in := range h.now {
		d = max(d, time.Since(in.began))
	}
	return d
}

// end ends the holding of in, if it was held.
func (h *holds) end(in *inFlight) {
	if !in.held {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if in.outside {
		h.outside++
	}
	if delete(h.now, in); len(h.now) == 0 {
		at, wait := time.Now(), calm
		if h.outside > 0 {
			wait += h.absence
		}
		h.over = time.AfterFunc(wait, func() { h.sayOver(at) })
	}
}

// sayOver says that holding ended, unless it began again meanwhile.
func (h *holds) sayOver(at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.now) > 0 || h.over == nil {
		return
	}
	h.over = nil
	r, _ := h.streak.Worked()
	h.log.Info("no delivery is held any more", "queue", h.queue, "held", h.deliveries, "waiting outside", h.outside,
		"tries", r.Tries, "lasted", at.Sub(r.Since).Round(time.Millisecond), "last error", r.Err)
	h.deliveries, h.outside = 0, 0
}

// stop says what is left to say. Nothing is held any more.
func (h *holds) stop() {
	h.mu.Lock()
	waiting := h.over != nil && h.over.Stop()
	h.mu.Unlock()
	if waiting {
		h.sayOver(time.Now())
	}
}
