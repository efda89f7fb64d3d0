-- +goose Up
-- What the lab does to the bank: one row, for all replicas.
CREATE TABLE lab (
    one         BOOLEAN          NOT NULL PRIMARY KEY CHECK (one),
    version     BIGINT           NOT NULL, -- grows with each change
    gate_closed BOOLEAN          NOT NULL,
    failure     DOUBLE PRECISION NOT NULL CHECK (failure BETWEEN 0 AND 1),
    fails_when  TEXT             NOT NULL CHECK (fails_when IN ('before', 'after')),
    delay       BIGINT           NULL CHECK (delay >= 0) -- microseconds; NULL: what the bank is configured to take
);
INSERT INTO lab (one, version, gate_closed, failure, fails_when, delay) VALUES (TRUE, 0, FALSE, 0, 'before', NULL);

-- +goose Down
DROP TABLE lab;
