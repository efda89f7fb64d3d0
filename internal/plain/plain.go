// Package plain makes text of strangers fit for a line on a terminal: messages,
// and what other servers answer, may say anything. What it returns has no
// control characters, and so can neither command the terminal nor break a line.
package plain

import (
	"strings"
	"unicode"
)

// Line is text as one line.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r): // the ends of lines, and tabs
			return ' '
		}
		return unicode.ReplacementChar
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// Short is Line of at most so many characters; what is longer ends in "…".
func Short(text string, most int) string {
	if len(text) > 4*most+4 { // in bytes: no more are needed, however long it is
		text = text[:4*most+4]
	}
	runes := []rune(Line(text))
	if len(runes) > most {
		runes = append(runes[:most-1], '…')
	}
	return string(runes)
}
