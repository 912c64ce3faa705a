package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/yudai-dev/yudai/test/checker"
)

// play tries all attacks of a family in a world of its own.
func (c *campaign) play(ctx context.Context, f family) ([]result, error) {
	var out []result
	here := f
	here.Attacks = nil
	for _, a := range f.Attacks {
		if why := cmp.Or(noPlace(f.Driver), c.notFor(a)); why != "" {
			out = append(out, result{attack: a, family: f.Family, notFor: why})
		} else {
			here.Attacks = append(here.Attacks, a)
		}
	}
	if len(here.Attacks) == 0 {
		return out, nil
	}
	dir, err := os.MkdirTemp(c.dir, f.Family+"-")
	if err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	w, err := open(ctx, here, dir, c.binary)
	if err != nil {
		return nil, fmt.Errorf("family %s: %w", f.Family, err)
	}
	defer w.close()
	outcomes, err := w.all(ctx, c.binary)
	if err != nil {
		return nil, fmt.Errorf("family %s: %w", f.Family, err)
	}
	for _, a := range here.Attacks {
		out = append(out, result{attack: a, family: f.Family, broken: a.Safe.broken(a, outcomes[a.Name])})
	}
	if !w.proc.Running() {
		out = append(out, whole(f, "the program ended: "+w.proc.Last()))
	}
	if leaks := w.leaks(ctx); len(leaks) > 0 {
		out = append(out, whole(f, leaks...))
	}
	if w.provider.bad > 0 {
		return nil, fmt.Errorf("family %s: %d calls to models without the canary as key: nothing would be proven", f.Family, w.provider.bad)
	}
	if w.provider.hidden > 0 {
		out = append(out, whole(f, fmt.Sprintf("%d questions to models held an order that people do not see", w.provider.hidden)))
	}
	if left := w.end(ctx); len(left) > 0 {
		out = append(out, whole(f, left...))
	}
	c.keepLog(w)
	return out, nil
}

// whole is a failure that belongs to no single attack.
func whole(f family, broken ...string) result {
	return result{attack: attack{Name: f.Family + "-all", Goal: "anything, by all attacks of the family together"}, family: f.Family, whole: true, broken: broken}
}

// notFor says why an attack cannot be tried on this machine.
func (c *campaign) notFor(a attack) string {
	for _, need := range a.Needs {
		switch need {
		case "root":
			if os.Geteuid() != 0 {
				return "needs root"
			}
		case "control groups":
			if os.Geteuid() != 0 {
				return "without control groups (allow_unlimited) each process has a limit, not all together: docs/drivers.md says so"
			}
		case "core files":
			if how, err := os.ReadFile("/proc/sys/kernel/core_pattern"); err != nil || strings.ContainsAny(string(how), "|/") {
				return "core files of this machine are not beside the program"
			}
		case "amd64":
			if runtime.GOARCH != need {
				return "names calls by the numbers of " + need
			}
		case "user":
			if os.Geteuid() == 0 {
				return "needs an ordinary user"
			}
		default:
			if _, err := exec.LookPath(need); err != nil {
				return "needs " + need
			}
		}
	}
	return ""
}

// all plays everybody at once and then looks, when all is quiet.
func (w *world) all(ctx context.Context, binary string) (map[string]outcome, error) {
	outcomes := map[string]outcome{}
	if slices.ContainsFunc(w.Attacks, func(a attack) bool { return a.Safe.Answered > 0 }) {
		var err error
		if w.calm, err = w.heard(ctx); err != nil {
			return nil, err
		}
	}
	later := map[string]func(context.Context) (outcome, error){}
	var mu sync.Mutex
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	var inside, services []attack
	installs := false
	for _, a := range w.Attacks {
		switch a.As {
		case asAgent, asProgram:
			inside = append(inside, a)
			continue
		case asInstall:
			installs = true
			continue
		case asService:
			services = append(services, a)
			continue
		}
		group.Go(func() error {
			o, look, err := w.one(gctx, a, binary)
			mu.Lock()
			defer mu.Unlock()
			outcomes[a.Name] = o
			if look != nil {
				later[a.Name] = look
			}
			return err
		})
	}
	keep := func(list map[string]outcome, err error) error {
		mu.Lock()
		defer mu.Unlock()
		for name, o := range list {
			outcomes[name] = o
		}
		return err
	}
	if len(inside) > 0 {
		group.Go(func() error { return keep(w.inSandbox(gctx, inside)) })
	}
	if installs {
		group.Go(func() error { return keep(w.installing(gctx)) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, a := range services { // one after the other: a lie is told to everybody
		var err error
		if outcomes[a.Name], err = w.lied(ctx, a); err != nil {
			return nil, err
		}
	}
	if err := w.quiet(ctx); err != nil {
		return nil, err
	}
	for name, look := range later {
		o, err := look(ctx)
		if err != nil {
			return nil, err
		}
		outcomes[name] = o
	}
	return outcomes, nil
}

// one plays an attack that shares nothing but the world.
func (w *world) one(ctx context.Context, a attack, binary string) (o outcome, later func(context.Context) (outcome, error), err error) {
	switch a.As {
	case asPatch, asModel:
		o, err = w.alone(ctx, a)
	case asCommand:
		o, err = w.command(ctx, a, binary)
	case asRequest:
		o, err = w.anybody(ctx, a)
	case asComment:
		later, err = w.onGitHub(ctx, a)
	case asSigned:
		later, err = w.delivered(ctx, a)
	}
	return o, later, err
}

// quiet waits until nothing has happened on GitHub for a while: a short one if no solve is live.
func (w *world) quiet(ctx context.Context) error {
	if err := w.hub.AwaitIdle(ctx); err != nil {
		return err
	}
	seen, since := -1, time.Now()
	return await(ctx, 3*time.Minute, "quiet", func() bool {
		if n := len(w.hub.History()); n != seen {
			seen, since = n, time.Now()
		}
		still := time.Since(since)
		return still > 2500*time.Millisecond && w.idle(ctx) || still > 30*time.Second
	})
}

var liveSolves = regexp.MustCompile(`(?m)^yudai_solves\{[^}]*\} [1-9]`)

// idle says that the program has no live solve.
func (w *world) idle(ctx context.Context) bool {
	status, text, err := w.get(ctx, "/metrics")
	return err == nil && status == http.StatusOK && !liveSolves.MatchString(text)
}

// installing plays all attacks of the family that run while dependencies are installed: one
// solve whose install command is all their scripts, in a file of the repository.
func (w *world) installing(ctx context.Context) (map[string]outcome, error) {
	issue, err := w.issue(project, "attacks while installing")
	if err != nil {
		return nil, err
	}
	id, s, err := w.ask(ctx, project, issue, "models=install", 2*solveTime)
	if err != nil {
		return nil, err
	}
	if s.State == "failed" {
		return nil, fmt.Errorf("the installation failed: %s", s.Reason)
	}
	out, err := shell(ctx, w.dir, `find store -path "*$ID*" -name '*install*' -exec cat {} +`, []string{"ID=" + string(id)})
	if err != nil {
		return nil, fmt.Errorf("read the install log: %w", err)
	}
	list := map[string]outcome{}
	for _, a := range w.Attacks {
		if a.As != asInstall {
			continue
		}
		_, rest, _ := strings.Cut(out, "BEGIN "+a.Name+"\n")
		text, _, _ := strings.Cut(rest, "END "+a.Name+"\n")
		list[a.Name] = outcome{text: text, ended: strings.Contains(text, ended)}
	}
	return list, nil
}

// installScript is the install command of the world, as a file of the repository.
func (f family) installScript() string {
	var b strings.Builder
	for _, a := range f.Attacks {
		if a.As == asInstall {
			fmt.Fprintf(&b, "echo BEGIN %[1]s\n(\n%[2]s\n) 2>&1\necho END %[1]s\n", a.Name, a.run())
		}
	}
	return b.String()
}

// planted writes the install script into the repository, as a script of the world's own.
func (w *world) planted() string {
	text := w.installScript()
	if text == "" {
		return ""
	}
	return "\ncat > install.sh <<'END-OF-INSTALL'\n" + text + "END-OF-INSTALL\n"
}

// end asks the program to end, and names what it left on the machine.
func (w *world) end(ctx context.Context) []string {
	w.proc.Signal(syscall.SIGTERM)
	if err := await(ctx, 2*time.Minute, "the program's end", func() bool { return !w.proc.Running() }); err != nil {
		w.proc.Kill()
		return []string{err.Error()}
	}
	left, err := checker.Left(w.path("sandboxes"))
	if err != nil {
		return []string{err.Error()}
	}
	if w.place != nil {
		for _, id := range w.place.left() {
			left = append(left, "sandbox "+id+" of "+w.Driver+" still costs money")
		}
	}
	return left
}
