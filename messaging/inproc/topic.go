package inproc

import "strings"

// pattern is a binding key, in words: "*" is any one word, "#" any number of
// words, none included.
type pattern []string

// split is the words of a key. As on RabbitMQ the empty key has no words.
func split(key string) []string {
	if key == "" {
		return nil
	}
	return strings.Split(key, ".")
}

func (p pattern) matches(words []string) bool {
	// Only the latest "#" ever needs to take more words: whatever an earlier one
	// could take, this one can take too. So this is linear per "#", not exponential.
	i, j := 0, 0
	hash, taken := -1, 0
	for j < len(words) {
		switch {
		case i < len(p) && p[i] == "#":
			hash, taken = i, j
			i++
		case i < len(p) && (p[i] == "*" || p[i] == words[j]):
			i, j = i+1, j+1
		case hash >= 0:
			taken++
			i, j = hash+1, taken
		default:
			return false
		}
	}
	for i < len(p) && p[i] == "#" {
		i++
	}
	return i == len(p)
}
