// Package virtual runs whole sagas of all three services on the embedded
// broker in virtual time: random interleavings of duplicates, delays, losses,
// crashes and outages, after which the invariants of package verify must hold.
// It has tests only.
package virtual
