package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yudai-dev/yudai/internal/failpoint"
)

// spec is one failpoint and what happens there.
type spec struct {
	Name   string
	Action failpoint.Action
	Nth    int // from 1
}

// String is the form that [parseSpec] and package failpoint read.
func (s spec) String() string { return fmt.Sprintf("%s=%s@%d", s.Name, s.Action, s.Nth) }

// parseSpec reads name=action@nth; without @nth it is the first time.
func parseSpec(text string) (spec, error) {
	name, rest, found := strings.Cut(text, "=")
	action, nth, counted := strings.Cut(rest, "@")
	s := spec{Name: name, Action: failpoint.Action(action), Nth: 1}
	if counted {
		n, err := strconv.Atoi(nth)
		if err != nil || n < 1 {
			return spec{}, fmt.Errorf("failpoint %q: %q is not a count from 1", text, nth)
		}
		s.Nth = n
	}
	if !found || name == "" {
		return spec{}, fmt.Errorf("failpoint %q: want name=action@nth", text)
	}
	if !slices.Contains([]failpoint.Action{failpoint.Kill, failpoint.Stop, failpoint.Stall}, s.Action) {
		return spec{}, fmt.Errorf("failpoint %q: %q is not an action; use kill, stop or stall", text, action)
	}
	return s, nil
}
