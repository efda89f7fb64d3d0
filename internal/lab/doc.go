// Package lab breaks one booking on purpose. A fault script says what happens
// to which of the booking's own deliveries; it travels with the booking as W3C
// baggage, so that every service sees it, and no other booking does.
//
// It guarantees that faults are deterministic: they count by the attempt that
// the message carries, or by the broker's count of deliveries, never by memory
// in a process. Each strikes a delivery once, however often it is tried in
// place. Without the lab switched on nothing in this package runs, and
// baggage with a script, a stranger's included, is ignored.
package lab
