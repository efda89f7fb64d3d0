package booking

import (
	"sync"

	"github.com/google/uuid"
)

// maxUnsure is far more than the deliveries that a replica holds at a time.
const maxUnsure = 10_000

// unsure are the bookings whose outcome this replica may have committed without
// being told. When the outcome comes again and repeats what the row says, it
// was: nobody has counted it yet.
//
// (It is a guess: another replica may have committed it meanwhile, and counted
// it too. A delivery that goes on at another replica is counted by neither.)
type unsure struct {
	mu  sync.Mutex
	ids map[uuid.UUID]struct{}
}

func newUnsure() *unsure { return &unsure{ids: make(map[uuid.UUID]struct{})} }

func (u *unsure) add(id uuid.UUID) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.ids) < maxUnsure {
		u.ids[id] = struct{}{}
	}
}

// remove reports whether id was among them.
func (u *unsure) remove(id uuid.UUID) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, was := u.ids[id]
	delete(u.ids, id)
	return was
}
