-- +goose Up
-- The row is the outbox of the door: BookingCreated is published from it.
-- Times are microseconds since the epoch, amounts minor units.
CREATE TABLE bookings (
    id              UUID    PRIMARY KEY, -- UUIDv7: ordered by acceptance
    seat            BIGINT  NOT NULL,
    customer        TEXT    NOT NULL,
    amount          BIGINT  NOT NULL,
    status          TEXT    NOT NULL,
    reason          TEXT    NOT NULL DEFAULT '',
    seat_released   BOOLEAN NOT NULL DEFAULT FALSE,
    idempotency_key TEXT,                        -- of the request that made it; NULL: it had none
    instance        TEXT    NOT NULL,            -- the replica in whose door it has its place
    trace_id        TEXT    NOT NULL,
    trace_context   TEXT    NOT NULL,            -- JSON: the headers of the first publish
    created_at      BIGINT  NOT NULL,
    updated_at      BIGINT  NOT NULL,
    started_at      BIGINT  NOT NULL DEFAULT 0,  -- when its saga began; 0: it waits
    redrives        BIGINT  NOT NULL DEFAULT 0,  -- how often it was published again after its deadline
    redrive_at      BIGINT  NOT NULL DEFAULT 0   -- when it is due for the next time; 0: it waits
);

CREATE UNIQUE INDEX bookings_idempotency_key ON bookings (idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- Unfinished bookings are few: the door bounds them.
CREATE INDEX bookings_unfinished ON bookings (id)
    WHERE status = 'Pending' OR (status = 'Cancelled' AND NOT seat_released);

-- When each replica was last seen alive. The bookings that wait at one that is
-- gone for good are taken over by another.
CREATE TABLE instances (
    instance TEXT   PRIMARY KEY,
    seen_at  BIGINT NOT NULL
);

-- +goose Down
DROP TABLE instances;
DROP TABLE bookings;
