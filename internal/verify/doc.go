// Package verify checks the invariants of the saga over the services' own HTTP:
//
//  1. Every accepted booking exists and is finished; a refusal (429, 503) left
//     nothing; after a 504 it is a finished booking, or nothing.
//  2. A seat is held by at most one booking; a held seat's booking is
//     Confirmed, and a Confirmed booking holds its seat.
//  3. A Confirmed booking has one succeeded payment and one bank charge, both of
//     its amount; every other booking has no charge, and neither has any that
//     does not exist.
//  4. A Cancelled booking's seat is not held by it; free + held = total.
//  5. No message is left in a work or wait queue.
//
// They hold once the sagas are quiet: a booking in flight violates the first.
package verify
