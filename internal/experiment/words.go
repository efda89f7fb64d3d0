package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// short is a duration that was measured, no finer than a reader cares for.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}

// times is how often something happened.
func times(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// counts is "1 Confirmed, 49 Rejected".
func counts(of map[string]int) string {
	var texts []string
	for _, what := range slices.Sorted(maps.Keys(of)) {
		texts = append(texts, fmt.Sprintf("%d %s", of[what], what))
	}
	return strings.Join(texts, ", ")
}

// inOrder is "1s, then 5s".
func inOrder(delays []time.Duration) string {
	texts := make([]string, len(delays))
	for i, d := range delays {
		texts[i] = d.String()
	}
	return strings.Join(texts, ", then ")
}

// but is what was seen instead of what should be, for the end of a sentence.
func but(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return " (" + fmt.Sprintf(format, args...) + ")"
}

// and is "1", "1 and 2" or "1, 2 and 4".
func and[T any](things []T) string {
	texts := make([]string, len(things))
	for i, t := range things {
		texts[i] = fmt.Sprint(t)
	}
	if n := len(texts) - 1; n > 0 {
		return strings.Join(texts[:n], ", ") + " and " + texts[n]
	}
	return strings.Join(texts, "")
}

// nearest is the one of names that text was probably meant to be, or "".
func nearest(text string, names []string) string {
	best, least := "", len(text)/2+1 // as many mistakes as that are no typing errors
	for _, name := range names {
		if d := distance(text, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters have to be put in, taken out or replaced to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
