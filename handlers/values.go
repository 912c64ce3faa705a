package handlers

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// argKey is a key of a command's arguments. read reads its value into a request; it
// returns the offending text and what would have been right, "" if the value was read.
type argKey struct {
	name, example string
	read          func(r *solve.Request, value string) (bad, wanted string)
}

// argKeys are all keys, in the order of the usage text.
func argKeys() []argKey {
	return []argKey{
		{"models", "a,b", func(r *solve.Request, v string) (string, string) { return readNames(&r.Models, v) }},
		{"temps", "0.2,0.8", readTemps},
		{"edits", "5,20", readEdits},
		{"strategies", "a,b", func(r *solve.Request, v string) (string, string) { return readNames(&r.Strategies, v) }},
		{"agents", "a,b", func(r *solve.Request, v string) (string, string) { return readNames(&r.Agents, v) }},
		{"repeat", "2", func(r *solve.Request, v string) (string, string) { return readNumber(&r.Repeat, v) }},
		{"parallel", "4", func(r *solve.Request, v string) (string, string) { return readNumber(&r.Parallel, v) }},
		{"budget", "$5,20m", readBudget},
		{"base", "main", func(r *solve.Request, v string) (string, string) { return readWord(&r.Base, v) }},
		{"profile", "cheap", func(r *solve.Request, v string) (string, string) { return readWord(&r.Profile, v) }},
		{"sandbox", "docker", func(r *solve.Request, v string) (string, string) { return readWord(&r.Sandbox, v) }},
		{"stop", "first_green", func(r *solve.Request, v string) (string, string) {
			return readWord(&r.Stop, solve.StopRule(strings.ToLower(v)))
		}},
		{"reproduce", "off", func(r *solve.Request, v string) (string, string) {
			return readWord(&r.Reproduce, solve.ReproduceRule(strings.ToLower(v)))
		}},
	}
}

// keyNames are their names.
func keyNames() (names []string) {
	for _, k := range argKeys() {
		names = append(names, k.name)
	}
	return names
}

func readWord[T ~string](field *T, value T) (string, string) {
	*field = value
	return "", ""
}

func readNames(list *[]string, value string) (string, string) {
	for _, e := range elements(value) {
		if e == "" {
			return value, "names between its commas"
		}
		*list = append(*list, e)
	}
	return "", ""
}

func readNumber(field *int, value string) (string, string) {
	n, ok := whole(value)
	if !ok || n == 0 {
		return value, "one whole number above 0"
	}
	*field = n
	return "", ""
}

func readTemps(r *solve.Request, value string) (string, string) {
	for _, e := range elements(value) {
		t, err := strconv.ParseFloat(e, 64)
		if err != nil || !decimal(e) {
			return e, "numbers like 0.2, with commas between them"
		}
		r.Temps = append(r.Temps, t)
	}
	return "", ""
}

func readEdits(r *solve.Request, value string) (string, string) {
	for _, e := range elements(value) {
		n, ok := whole(e)
		if !ok {
			return e, "whole numbers, with commas between them; 0 is no limit"
		}
		r.Edits = append(r.Edits, n)
	}
	return "", ""
}

const budgetForm = "money (`$5`, `0.50`), time (`20m`, `1h30m`), or one of each with a comma between them"

func readBudget(r *solve.Request, value string) (bad, wanted string) {
	var ok bool
	if r.Budget, r.TimeBudget, bad, ok = budget(value); !ok {
		return bad, budgetForm
	}
	return "", ""
}

// budget reads money, time, or one of each; if it is not ok, bad is the first part that is neither.
func budget(value string) (m solve.Money, d time.Duration, bad string, ok bool) {
	for _, e := range elements(value) {
		if v, ok := money(e); ok && m == 0 {
			m = v
			continue
		}
		v, err := time.ParseDuration(strings.ToLower(e))
		if err != nil || v <= 0 || d != 0 {
			if e == "" {
				e = value
			}
			return 0, 0, e, false
		}
		d = v
	}
	return m, d, "", true
}

// ParseBudget reads a budget as the key of that name takes it ("$2", "20m", "$2,20m")
// and checks its range.
func ParseBudget(value string) (solve.Money, time.Duration, error) {
	m, d, bad, ok := budget(value)
	if !ok {
		return 0, 0, fmt.Errorf("%q is not a budget: write %s", bad, strings.ReplaceAll(budgetForm, "`", ""))
	}
	var err error
	Vocabulary{}.Check(solve.Request{Budget: m, TimeBudget: d}, func(p Problem) {
		err = errors.Join(err, errors.New(p.Word+" "+p.Text))
	})
	return m, d, err
}

// money reads "$5", "5", "5usd" or "0.50" as millionths of a dollar, without rounding.
func money(s string) (solve.Money, bool) {
	s = strings.ToLower(s)
	s, dollar := strings.CutPrefix(s, "$")
	if !dollar {
		s = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(s, "usd"), "$"))
	}
	dollars, cents, point := strings.Cut(s, ".")
	if !decimal(s) || len(dollars) > 9 || len(cents) > 6 || (point && cents == "") {
		return 0, false
	}
	n, err := strconv.ParseInt(dollars+cents+strings.Repeat("0", 6-len(cents)), 10, 64)
	return solve.Money(n), err == nil && n > 0
}

// whole reads an unsigned number of at most six digits.
func whole(s string) (int, bool) {
	if len(s) > 6 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// decimal says whether s is digits with at most one point: no sign, exponent or "inf".
func decimal(s string) bool {
	return s != "" && len(s) <= 20 && s != "." && strings.Trim(s, "0123456789.") == "" && strings.Count(s, ".") <= 1
}
