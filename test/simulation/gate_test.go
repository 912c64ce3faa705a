package simulation_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// How a process ends at a boundary.
const (
	crashBefore = '-' // dies before the durable thing
	crashAfter  = '+' // dies after it, before it sees the outcome
	stopAt      = 's' // is told to stop after it
	stallAt     = 'z' // is held up after it for longer than its lease lasts
)

// stallTime is longer than a lease, and than a claim on an effect.
const stallTime = 45 * time.Second

// point is one end of a process: at its nth boundary, in one of the ways. With
// at, only boundaries whose name holds that text count.
type point struct {
	n   int
	how byte
	at  string
}

func (p point) counts(name string) bool { return name != "" && strings.Contains(name, p.at) }

func (p point) String() string {
	if p.at != "" {
		return fmt.Sprintf("%d%c at %q", p.n, p.how, p.at)
	}
	return strconv.Itoa(p.n) + string(p.how)
}

// parsePlan reads "17+,4s": where the first process ends, the second, and so on.
func parsePlan(text string) ([]point, error) {
	var plan []point
	for part := range strings.SplitSeq(text, ",") {
		digits := strings.TrimRight(part, "+-sz")
		n, err := strconv.Atoi(digits)
		if err != nil || n < 1 || len(part) != len(digits)+1 {
			return nil, fmt.Errorf("%q is no point, such as 17+, 17-, 17s or 17z", part)
		}
		plan = append(plan, point{n: n, how: part[len(digits)]})
	}
	return plan, nil
}

func planText(plan []point) string {
	var parts []string
	for _, p := range plan {
		parts = append(parts, p.String())
	}
	return strings.Join(parts, ",")
}

// errDead is all that a process learns after its crash.
var errDead = errors.New("this process is dead")

// gate stands between one process and everything that outlives it. It counts
// the boundaries, and after the crash nothing passes any more.
type gate struct {
	plan  point         // zero: never
	turn  chan struct{} // one passes at a time; a mutex would keep the fake clock from moving
	ended chan struct{} // closed at the plan's point
	note  func(n int, name string)
	n     int // boundaries passed
	met   int // of those that count for the plan
	dead  bool
}

func newGate(plan point, note func(n int, name string)) *gate {
	return &gate{plan: plan, turn: make(chan struct{}, 1), ended: make(chan struct{}), note: note}
}

func (g *gate) enter() { g.turn <- struct{}{} }
func (g *gate) leave() { <-g.turn }

// before refuses if the process is dead, or dies before the boundary of that
// name; "" is none.
func (g *gate) before(name string) error {
	if !g.dead && g.plan.how == crashBefore && g.plan.counts(name) && g.met+1 == g.plan.n {
		g.dead = true
		close(g.ended)
	}
	if g.dead {
		return errDead
	}
	return nil
}

// after counts a boundary that was passed, and ends the process if it is the plan's.
func (g *gate) after(name string) error {
	if g.dead {
		return errDead
	}
	g.n++
	g.note(g.n, name)
	if !g.plan.counts(name) {
		return nil
	}
	g.met++
	if g.met != g.plan.n {
		return nil
	}
	if g.plan.how == stallAt {
		<-time.After(stallTime) // nobody else passes either
		return nil
	}
	g.dead = g.plan.how != stopAt
	close(g.ended)
	if g.dead {
		return errDead
	}
	return nil
}

// read does what leaves nothing behind.
func (g *gate) read(do func() error) error {
	g.enter()
	defer g.leave()
	if err := g.before(""); err != nil {
		return err
	}
	return do()
}

// pass does what is a boundary if it succeeds.
func (g *gate) pass(name string, do func() error) error {
	g.enter()
	defer g.leave()
	if err := g.before(name); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return g.after(name)
}

// may does what is a boundary if it says so: whether it is cannot be known before.
func (g *gate) may(name string, do func() (bool, error)) error {
	g.enter()
	defer g.leave()
	if err := g.before(""); err != nil {
		return err
	}
	changed, err := do()
	if err != nil || !changed {
		return err
	}
	return g.after(name)
}

// around does what takes time, so that others pass meanwhile.
func (g *gate) around(name string, do func() error) error {
	g.enter()
	err := g.before(name)
	g.leave()
	if err != nil {
		return err
	}
	failed := do()
	g.enter()
	defer g.leave()
	return errors.Join(g.after(name), failed)
}

// trace notes every boundary of every process.
type trace struct {
	began time.Time
	lines []string
}

func (t *trace) of(process int) func(n int, name string) {
	return func(n int, name string) {
		t.lines = append(t.lines, fmt.Sprintf("%6.1fs process %d boundary %3d: %s", time.Since(t.began).Seconds(), process, n, name))
	}
}

// gone reports whether the process is dead.
func (g *gate) gone() bool {
	g.enter()
	defer g.leave()
	return g.dead
}
