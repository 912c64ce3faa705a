package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/test/program"
)

const (
	// longest ends an episode that does something for ever.
	longest = 5 * time.Minute
	// maxStarts ends an episode whose program does not stay up.
	maxStarts = 8
	// tick is how often an episode looks around.
	tick = 15 * time.Millisecond
	// quiet is how long nothing must have happened at the end.
	quiet = 250 * time.Millisecond
	// endTime is how long the program may take to end when it is asked to.
	endTime = 30 * time.Second
)

// midway is where the first process is killed when the point is one of its successor.
const midway = "store.step.after=kill@4"

// episode is one solve in one world, with what happens to the program meanwhile.
type episode struct {
	*world
	point    point
	mutation string
	program  string
	dice     *rand.Rand
	hits     string // the file that the hits of the process at the point are logged to

	proc      *program.Process
	started   time.Time // of the first trigger
	starts    int
	crashes   int
	reached   bool          // the point was
	downtime  bool          // the trigger comes while the program is down
	second    time.Duration // after the first restart the program is killed once more; 0 is not
	secondAt  time.Time
	continued time.Time // when a stopped process went on
	acted     int       // how far the scene is
	found     []string  // what went wrong beside what the checker sees
	doubled   []string
	redone    map[int64]bool
	over      bool          // the point and the scene are
	calm      time.Duration // how long nothing must have happened at the end
}

// newEpisode rolls the dice for what the point leaves open.
func newEpisode(w *world, p point, seed uint64, program, mutation string) *episode {
	e := &episode{world: w, point: p, program: program, mutation: mutation, dice: p.dice(seed), redone: map[int64]bool{}, calm: quiet}
	if mutation != "" {
		return e // the point says all
	}
	e.downtime = e.dice.IntN(8) == 0
	if e.dice.IntN(5) == 0 {
		e.second = time.Duration(1+e.dice.IntN(2000)) * time.Millisecond
	}
	if e.dice.IntN(8) == 0 {
		w.hub.Disturb(githubsim.Disturbance{Kind: githubsim.DisturbDuplicate, Count: -1})
	}
	return e
}

// run plays the episode until all is quiet and the program has ended.
func (e *episode) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	if e.downtime && e.started.IsZero() {
		if err := e.trigger(); err != nil {
			return err
		}
	}
	if err := e.launch(); err != nil {
		return err
	}
	defer func() {
		e.proc.Signal(syscall.SIGCONT)
		e.proc.Kill()
	}()
	for {
		if err := e.settle(ctx); err != nil {
			return err
		}
		e.terminate()
		if e.proc.Killed || !e.proc.Crashed() {
			break
		}
		e.noteExit() // the point was in the shutdown
		if err := e.launch(); err != nil {
			return err
		}
	}
	if code := e.proc.Code(); code != 0 && code != program.ExitLeaseLost && !e.proc.Killed {
		e.wrong("the program ended with code %d when it was asked to end: %s", code, e.proc.Last())
	}
	return ctx.Err()
}

// terminate asks the program to end and waits for it. A point may be on the way.
func (e *episode) terminate() {
	e.proc.Signal(syscall.SIGTERM)
	for end := time.Now().Add(endTime); e.proc.Running(); pause(context.Background(), tick) {
		e.resume(e.proc.Armed)
		if time.Now().After(end) {
			e.wrong("the program did not end within %s of SIGTERM", endTime)
			e.proc.Kill()
		}
	}
}

// runOnceMore starts the program again, long enough to look up every write whose
// outcome a crash left open.
func (e *episode) runOnceMore(ctx context.Context) error {
	e.over, e.calm = true, e.pace.lease+e.pace.settle+2*time.Second
	return e.run(ctx)
}

// wrong notes what no checker can see afterwards.
func (e *episode) wrong(format string, args ...any) {
	e.found = append(e.found, fmt.Sprintf(format, args...))
}

// launch starts the program: with the point if its turn has come, else without.
func (e *episode) launch() error {
	e.starts++
	if e.starts > maxStarts {
		return fmt.Errorf("the program was started %d times and does not stay up: %s", maxStarts, e.proc.Last())
	}
	env := e.environment()
	if e.mutation != "" {
		env = append(env, "YUDAI_MUTATION="+e.mutation)
	}
	mine := e.starts == 1 && !e.over
	if e.point.restart {
		mine = e.starts == 2 && !e.over
		if e.starts == 1 {
			env = append(env, "YUDAI_FAILPOINT="+midway)
		}
	}
	armed := mine && e.point.spec.Name != "" && e.point.spec.Name != moment
	if armed {
		env = append(env, "YUDAI_FAILPOINT="+e.point.spec.String())
	}
	if mine && e.hits != "" {
		env = append(env, "YUDAI_FAILPOINT_LOG="+e.hits)
	}
	p, err := program.Start(e.program, e.config(), env, armed)
	if err != nil {
		return err
	}
	e.proc = p
	for p.Running() && p.Address() == "" {
		e.resume(armed)
		pause(context.Background(), tick)
	}
	if p.Address() != "" {
		return e.hub.SetWebhookURL(e.app, p.Address()+"/api/github/hook")
	}
	return nil
}

// settle plays the scene and keeps the program alive until nothing is left to do.
func (e *episode) settle(ctx context.Context) error {
	var calm, moved time.Time
	seen := -1
	for {
		if !pause(ctx, tick) || seen >= 0 && time.Since(moved) > e.pace.patience {
			e.wrong("nothing happens any more, and people still wait: %s", e.openWork())
			return nil
		}
		e.killByTime()
		e.resume(e.proc.Armed)
		if !e.proc.Running() {
			e.noteExit()
			if err := e.launch(); err != nil {
				return err
			}
			if e.starts == 2 && e.second > 0 {
				e.secondAt = time.Now().Add(e.second)
			}
		}
		if err := e.playUsers(); err != nil {
			return err
		}
		n := len(e.hub.History())
		if n != seen {
			moved = time.Now()
		}
		if n != seen || e.openWork() != "" {
			seen, calm = n, time.Now()
		}
		if time.Since(calm) >= e.calm {
			return nil
		}
	}
}

// keepLog writes down what the last process said.
func (e *episode) keepLog() {
	_ = os.WriteFile(filepath.Join(e.dir, "log.jsonl"), []byte(e.proc.Log.String()), 0o600) // a help, no evidence
}
