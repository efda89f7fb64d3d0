-- +goose Up
-- One row per booking, for ever: it is what a repeated event finds.
-- Times are microseconds since the epoch, amounts minor units.
CREATE TABLE payments (
    booking_id UUID   NOT NULL PRIMARY KEY,
    seat       BIGINT NOT NULL CHECK (seat > 0),
    amount     BIGINT NOT NULL CHECK (amount > 0),
    status     TEXT   NOT NULL CHECK (status IN ('succeeded', 'failed')),
    reason     TEXT   NOT NULL, -- why it failed
    created_at BIGINT NOT NULL
);

-- The bank's own books. Nothing but the bank reads or writes them in the saga,
-- and never in a transaction with the table above.
CREATE TABLE bank_ledger (
    booking_id UUID   NOT NULL PRIMARY KEY,
    amount     BIGINT NOT NULL CHECK (amount > 0),
    verdict    TEXT   NOT NULL CHECK (verdict IN ('charged', 'declined')),
    created_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE payments;
DROP TABLE bank_ledger;
