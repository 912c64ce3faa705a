package prime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/sandbox"
)

// lobby is where all sandboxes of this process are waited for: whoever has the
// turn asks once for everybody whose time has come.
type lobby struct {
	control *control
	single  atomic.Bool // the service does not answer for many at once

	mu     sync.Mutex
	guests map[string]*guest
	turn   chan struct{} // held by who asks
	bell   chan struct{} // rung when somebody comes in
}

// guest is one sandbox that is waited for.
type guest struct {
	news chan news // the newest
	due  time.Time // of the next look
	wait time.Duration
	slow bool // its image is being built
}

func newLobby(c *control) *lobby {
	return &lobby{control: c, guests: map[string]*guest{}, turn: make(chan struct{}, 1), bell: make(chan struct{}, 1)}
}

// mostAtOnce is how many sandboxes one request may ask for.
const mostAtOnce = 100

// wait passes what is heard of a sandbox to see, until see is satisfied or fails.
func (l *lobby) wait(ctx context.Context, id string, see func(news) (slow, done bool, err error)) error {
	g := l.enter(id)
	defer l.leave(id)
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case n := <-g.news:
			slow, done, err := see(n)
			if done || err != nil {
				return err
			}
			l.mu.Lock()
			g.slow = slow
			l.mu.Unlock()
		case l.turn <- struct{}{}:
			if len(g.news) == 0 { // who had the turn before may have heard something
				l.round(ctx)
			}
			<-l.turn
		}
	}
}

func (l *lobby) enter(id string) *guest {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := &guest{news: make(chan news, 1), wait: l.control.pace.poll}
	g.due = time.Now().Add(jitter(g.wait))
	l.guests[id] = g
	select {
	case l.bell <- struct{}{}:
	default:
	}
	return g
}

func (l *lobby) leave(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.guests, id)
}

// jitter varies by a quarter to either side.
func jitter(d time.Duration) time.Duration { return d - d/4 + rand.N(d/2+1) }

// round waits until somebody's time has come, asks, and hands out what is heard.
func (l *lobby) round(ctx context.Context) {
	for {
		wait := time.Until(l.earliest())
		if wait <= 0 {
			break
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-l.bell:
			t.Stop()
		case <-t.C:
		}
	}
	ids := l.duly()
	for len(ids) > 0 {
		n := min(mostAtOnce, len(ids))
		l.hand(l.ask(ctx, ids[:n]))
		ids = ids[n:]
	}
}

func (l *lobby) earliest() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := time.Now().Add(time.Hour)
	for _, g := range l.guests {
		if g.due.Before(first) {
			first = g.due
		}
	}
	return first
}

// duly lists those whose time has come, or comes soon, and plans the next look.
func (l *lobby) duly() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	var ids []string
	for id, g := range l.guests {
		if g.due.After(now.Add(g.wait / 2)) {
			continue
		}
		ids = append(ids, id)
		g.wait = min(g.wait*3/2, l.control.pace.pollMost)
		if g.slow {
			g.wait = l.control.pace.pollMost
		}
		g.due = now.Add(jitter(g.wait))
	}
	slices.Sort(ids)
	return ids
}

func (l *lobby) hand(heard map[string]news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, n := range heard {
		g := l.guests[id]
		if g == nil {
			continue
		}
		select {
		case <-g.news: // older
		default:
		}
		g.news <- n
	}
}

// ask asks for many at once, or one by one where that is not offered. Those of
// whom nothing was heard are not in the answer.
func (l *lobby) ask(ctx context.Context, ids []string) map[string]news {
	heard := map[string]news{}
	alone := ids
	if !l.single.Load() {
		var b batchStatus
		body := map[string][]string{"sandbox_ids": ids}
		err := l.control.do(ctx, call{method: http.MethodPost, path: "/sandbox/status:batchGet", body: body, answer: &b})
		alone = nil
		switch {
		case notOffered(err):
			l.single.Store(true)
			alone = ids
		case err != nil:
			return failed(ids, err)
		}
		for _, s := range b.Statuses {
			heard[s.SandboxID] = s.news
		}
		for _, e := range b.Errors { // a look at the sandbox itself tells more
			alone = append(alone, e.SandboxID)
		}
	}
	for _, id := range alone {
		o, err := l.control.get(ctx, id)
		if err != nil {
			maps.Copy(heard, failed([]string{id}, err))
			continue
		}
		heard[id] = o.news()
	}
	return heard
}

// failed tells everybody of an error that does not pass, and nobody of one that does.
func failed(ids []string, err error) map[string]news {
	heard := map[string]news{}
	s := statusOf(err)
	if transient(err) || s == 0 || s == http.StatusTooManyRequests || s == http.StatusRequestTimeout || s == http.StatusConflict {
		return heard
	}
	for _, id := range ids {
		heard[id] = news{err: err}
	}
	return heard
}

// errSlow says that a budget of waiting is used up.
var errSlow = errors.New("not ready in time")

// awaitRunning waits until a sandbox runs. The build of its image, which the
// service does when it sees it for the first time, has a budget of its own.
func (d *Driver) awaitRunning(ctx context.Context, name, id string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	budget := time.AfterFunc(d.config.StartTime, func() { cancel(errSlow) })
	defer budget.Stop()
	building, last := false, status("")
	err := d.lobby.wait(ctx, id, func(n news) (slow, done bool, err error) {
		if n.err != nil {
			if isGone(n.err) {
				return false, true, fmt.Errorf("%w: Prime does not know it any more while it starts", sandbox.ErrUnavailable)
			}
			return false, true, d.config.explain(n.err)
		}
		last = n.Status
		slow = n.Status == statusPending && n.BuildID != ""
		if slow != building {
			building = slow
			if building {
				d.log.Info().Str(logkey.SandboxID, name).Msg("the image is being built at Prime, which takes about ten minutes the first time")
				budget.Reset(d.config.BuildTime)
			} else {
				budget.Reset(d.config.StartTime)
			}
		}
		if n.Status.ended() {
			return false, true, d.startFailed(n)
		}
		return slow, n.Status == statusRunning, nil
	})
	if !errors.Is(err, errSlow) {
		return err
	}
	switch {
	case building:
		return fmt.Errorf("%w: Prime has not built the image %s within %s (%sbuild_time)", sandbox.ErrUnavailable, d.config.Image, d.config.BuildTime, section)
	case last == statusPending:
		return fmt.Errorf("%w: Prime has not placed the sandbox within %s (%sstart_time)", sandbox.ErrCapacity, d.config.StartTime, section)
	}
	return fmt.Errorf("%w: the sandbox does not run after %s (%sstart_time), its status is %q", sandbox.ErrUnavailable, d.config.StartTime, section, plain(string(last)))
}

// startFailed says why a sandbox ended before it ran.
func (d *Driver) startFailed(n news) error {
	switch n.ErrorType {
	case "IMAGE_PULL_FAILED":
		return fmt.Errorf("%w: Prime cannot get %simage %q: it must be public, or built at Prime (%s)", sandbox.ErrSetting, section, d.config.Image, n)
	case "OOM_KILLED":
		return fmt.Errorf("%w: the memory of the sandbox is too small to start it: set %slimits.memory_gb (%s)", sandbox.ErrLimit, section, n)
	}
	return fmt.Errorf("%w: the sandbox ended while it started (%s)", sandbox.ErrUnavailable, n)
}

// reach proves that commands can run, and learns as whom: the gateway may hear of
// a sandbox later than its status tells.
func (d *Driver) reach(ctx context.Context, m *machine) error {
	pace := d.control.pace
	until, wait := time.Now().Add(d.config.StartTime), pace.poll/4
	for {
		said, code, expired, err := m.echo(ctx, pace.echo)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && code != 0:
			return fmt.Errorf("%w: %simage %q cannot run bash: a first command ended with exit %d", sandbox.ErrSetting, section, d.config.Image, code)
		case err == nil:
			m.user = userIn(said)
			return nil
		case noProgram(err):
			return fmt.Errorf("%w: %simage %q has no /bin/bash: %w", sandbox.ErrSetting, section, d.config.Image, err)
		case !expired && !passing(err) || m.over(ctx):
			return m.translate(ctx, err)
		case time.Now().Add(wait).After(until):
			return fmt.Errorf("%w: the sandbox runs and the gateway does not reach it within %s (%sstart_time): %w",
				sandbox.ErrUnavailable, d.config.StartTime, section, err)
		}
		if !sleep(ctx, wait) {
			return context.Cause(ctx)
		}
		wait = min(wait*3/2, pace.pollMost)
	}
}

// over reports whether the control plane knows that the sandbox ended.
func (m *machine) over(ctx context.Context) bool {
	n, err := m.control.why(ctx, m.id)
	return isGone(err) || err == nil && n.Status.ended()
}

// echo runs a first command, for not longer than patience.
func (m *machine) echo(ctx context.Context, patience time.Duration) (said string, code int, expired bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out strings.Builder
	code, err = m.once(ctx, []string{"/bin/bash", "-c", `echo "$EUID:$(id -un)"`}, false, func(stderr bool, data []byte) {
		if !stderr && out.Len() < 1000 {
			out.Write(data)
		}
	})
	return out.String(), code, ctx.Err() != nil, err
}

// userIn reads whom commands run as: "" is root, or nobody with a name.
func userIn(said string) string {
	m := regexp.MustCompile(`^[1-9][0-9]*:([a-z_][a-z0-9_-]{0,31})\n$`).FindStringSubmatch(said)
	if m == nil {
		return ""
	}
	return m[1]
}

// noProgram reports whether a program that is not in the image was to be run.
func noProgram(err error) bool {
	var r *refusal
	if !errors.As(err, &r) || r.from != fromStream {
		return false
	}
	text := strings.ToLower(r.detail)
	return strings.Contains(text, "no such file") || strings.Contains(text, "executable file not found")
}
