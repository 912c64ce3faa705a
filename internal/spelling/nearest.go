// Package spelling finds what a mistyped word most likely means.
package spelling

import "strings"

// Nearest returns the valid word that a mistyped one most likely means, "" if
// none is near: more than a third of the letters would have to change, and none
// begins with the three or more letters given. Case does not count; on a tie
// the earlier valid word wins.
func Nearest(word string, valid []string) string {
	w := []rune(strings.ToLower(strings.TrimSpace(word)))
	if len(w) == 0 || len(w) > 100 {
		return ""
	}
	best, bestCost := "", 0
	for _, v := range valid {
		r := []rune(strings.ToLower(v))
		cost := distance(w, r)
		if cost > max(1, max(len(w), len(r))/3) || cost >= max(len(w), len(r)) {
			continue
		}
		if best == "" || cost < bestCost {
			best, bestCost = v, cost
		}
	}
	if best != "" || len(w) < 3 {
		return best
	}
	for _, v := range valid {
		if strings.HasPrefix(strings.ToLower(v), string(w)) {
			return v
		}
	}
	return ""
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour (the optimal string alignment distance).
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
