// Package experiment breaks bookings on purpose and looks whether they heal.
// An [Experiment] is a scene: it says what it sets up, what it sends and what
// happens, with times, and ends with a verdict.
//
// It guarantees that a PASS means something: what the experiment expects
// happened, every booking finished by itself before the saga deadline would
// have repaired it, and the invariants of package verify hold. A FAIL names
// each expectation and each invariant that is broken. Where others booked
// meanwhile it says that instead, since they may have broken what it expects.
package experiment
