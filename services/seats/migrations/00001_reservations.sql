-- +goose Up
-- One row per booking, for ever: it is what a repeated event finds.
-- Times are microseconds since the epoch, amounts minor units.
CREATE TABLE reservations (
    booking_id UUID   NOT NULL PRIMARY KEY,
    seat       BIGINT NOT NULL CHECK (seat > 0),
    amount     BIGINT NOT NULL CHECK (amount >= 0), -- 0: never learned, the release came first
    status     TEXT   NOT NULL CHECK (status IN ('reserved', 'rejected', 'released')),
    reason     TEXT   NOT NULL,                     -- why it was rejected or released
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- A seat is held by at most one booking, because the database says so.
CREATE UNIQUE INDEX reservations_held_seat ON reservations (seat) WHERE status = 'reserved';

-- +goose Down
DROP TABLE reservations;
