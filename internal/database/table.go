package database

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// Column is one column of a [Table]: make it with [Col].
type Column struct {
	name, kind string
	length     int
	slice      any
	at         func(int) any
}

// Col is a column of these values; pointers may be nil, for NULL.
func Col[T uuid.UUID | int64 | string | bool | *int64 | *string](name string, values []T) Column {
	c := Column{name: name, length: len(values), slice: values, at: func(i int) any { return values[i] }}
	switch values := any(values).(type) {
	case []uuid.UUID:
		c.kind = "uuid"
		c.slice = pgUUIDs(values)
	case []int64, []*int64:
		c.kind = "bigint"
	case []string, []*string:
		c.kind = "text"
	case []bool:
		c.kind = "boolean"
	}
	return c
}

// pgUUIDs is what pgx encodes without asking each element for its text.
func pgUUIDs(ids []uuid.UUID) pgtype.FlatArray[pgtype.UUID] {
	array := make(pgtype.FlatArray[pgtype.UUID], len(ids))
	for i, id := range ids {
		array[i] = pgtype.UUID{Bytes: id, Valid: true}
	}
	return array
}

// Table gives many rows to one statement. It returns a table expression for
// the FROM clause, named input, and its arguments, which must be the
// statement's first; the next placeholder is $len(args)+1. The text depends on
// the columns only, never on the number of rows, so that the database can
// keep its plan.
//
//	from, args := db.Table(database.Col("booking_id", ids), database.Col("seat", seats))
//	db.QueryContext(ctx, `INSERT INTO reservations (booking_id, seat)
//		SELECT booking_id, seat FROM `+from+` WHERE true ORDER BY seat
//		ON CONFLICT DO NOTHING RETURNING booking_id`, args...)
//
// (SQLite needs the WHERE between a SELECT and ON CONFLICT.) All columns must
// have the same length.
func (d Dialect) Table(columns ...Column) (from string, args []any) {
	for _, c := range columns {
		if c.length != columns[0].length {
			panic(fmt.Sprintf("database: column %s has %d values, %s has %d", c.name, c.length, columns[0].name, columns[0].length))
		}
	}
	if d == PostgreSQL {
		return unnest(columns)
	}
	return jsonEach(columns)
}

// Table is [Dialect.Table] in the database's dialect.
func (db *DB) Table(columns ...Column) (from string, args []any) { return db.Dialect.Table(columns...) }

// unnest passes each column as one array.
func unnest(columns []Column) (from string, args []any) {
	var params, names []string
	for i, c := range columns {
		params = append(params, fmt.Sprintf("$%d::%s[]", i+1, c.kind))
		names = append(names, c.name)
		args = append(args, c.slice)
	}
	return fmt.Sprintf("unnest(%s) AS input(%s)", strings.Join(params, ", "), strings.Join(names, ", ")), args
}

// jsonEach passes all rows as one JSON array of arrays.
func jsonEach(columns []Column) (from string, args []any) {
	var picks []string
	for i, c := range columns {
		picks = append(picks, fmt.Sprintf("json_extract(value, '$[%d]') AS %s", i, c.name))
	}
	rows := make([][]any, columns[0].length)
	for i := range rows {
		rows[i] = make([]any, len(columns))
		for j, c := range columns {
			rows[i][j] = c.at(i)
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		panic("database: " + err.Error()) // Col admits only types that marshal
	}
	return fmt.Sprintf("(SELECT %s FROM json_each($1)) AS input", strings.Join(picks, ", ")), []any{string(text)}
}
