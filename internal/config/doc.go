// Package config holds the settings of the services as structs that kong fills
// from flags and environment variables, and a [Reader] that checks them. It
// guarantees:
//
//   - Every mistake is one line that names the variable or flag, the value, and
//     what is allowed, and all mistakes of a command are said at once.
//   - A command minds its own settings only.
//   - No message contains the password of a URL.
//   - A variable that is set to nothing counts as not set.
package config
