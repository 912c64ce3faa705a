package server

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/internal/watch"
	"github.com/yudai-dev/yudai/setup"
	"github.com/yudai-dev/yudai/web"
)

const (
	// checkupPause is the least time from the start of one check to that of the next: it asks GitHub and pays models.
	checkupPause = time.Minute
	// checkupTime bounds a check.
	checkupTime = 5 * time.Minute
)

// checkup runs the doctor when somebody asks for it, and keeps what it found.
type checkup struct {
	doctor  *setup.Doctor
	secrets *strings.Replacer
	now     func() time.Time
	asked   chan struct{}
	changed watch.Watchers

	mu   sync.Mutex
	last web.Checkup
}

var _ web.Doctor = (*checkup)(nil)

func newCheckup(d *setup.Doctor, secrets *strings.Replacer, now func() time.Time) *checkup {
	return &checkup{doctor: d, secrets: secrets, now: now, asked: make(chan struct{}, 1)}
}

// Last implements [web.Doctor].
func (c *checkup) Last() web.Checkup {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.last
	out.Ready = c.ready()
	return out
}

// ready says whether a check may begin. The caller holds c.mu.
func (c *checkup) ready() bool { return !c.last.Running && c.now().Sub(c.last.Began) >= checkupPause }

// Start implements [web.Doctor].
func (c *checkup) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready() {
		return
	}
	c.last = web.Checkup{Began: c.now(), Running: true}
	c.asked <- struct{}{} // has room: the check before took its own
	c.changed.Signal()
}

// Watch implements [web.Doctor].
func (c *checkup) Watch(ctx context.Context) <-chan struct{} { return c.changed.Watch(ctx) }

// run makes the checks that are asked for until ctx ends.
func (c *checkup) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.asked:
			c.check(ctx)
		}
	}
}

func (c *checkup) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkupTime)
	defer cancel()
	level := map[setup.Level]web.Level{setup.Good: web.Good, setup.Warn: web.Unsure, setup.Bad: web.Bad}
	for f := range c.doctor.Check(ctx) {
		c.change(func(last *web.Checkup) {
			last.Findings = append(last.Findings[:len(last.Findings):len(last.Findings)], web.Finding{ // pages hold what was
				Level: level[f.Level], What: f.What, Text: c.secrets.Replace(f.Text), Fix: c.secrets.Replace(f.Fix),
			})
		})
	}
	c.change(func(last *web.Checkup) { last.Running = false })
}

func (c *checkup) change(f func(last *web.Checkup)) {
	c.mu.Lock()
	f(&c.last)
	c.mu.Unlock()
	c.changed.Signal()
}
