package e2e_test

import (
	"cmp"
	"os/exec"
	"strings"
	"time"
)

// Garbage is the part of a scenario that spoils the world around the trigger.
type Garbage struct {
	// Issue replaces issue.md, where characters are needed that no file should hold.
	Issue *issueText `yaml:"issue"`
	// Git are commands in the repository on GitHub, before the trigger.
	Git []string `yaml:"git"`
	// Before is done to the issue before the trigger, and Meanwhile when the solve
	// is stored and GitHub does not say yet who may write: close, lock, delete, transfer.
	Before    []string `yaml:"before"`
	Meanwhile []string `yaml:"meanwhile"`
	// Tests is the section solver.tests, as far as it differs.
	Tests struct {
		Command string        `yaml:"command"`
		Time    time.Duration `yaml:"time"`
		Tries   int           `yaml:"tries"`
	} `yaml:"tests"`
}

// spoil puts the scenario's settings into the configuration.
func (w *world) spoil(g Garbage) {
	t := &w.cfg.Solver.Tests
	if g.Tests.Command != "" {
		t.Command, t.Format, t.Report = g.Tests.Command, "exit", ""
	}
	t.Time = cmp.Or(g.Tests.Time, t.Time)
	t.Tries = cmp.Or(g.Tests.Tries, t.Tries)
}

// issueText is an issue; Pad is repeated until the body has Size bytes.
type issueText struct {
	Title string `yaml:"title"`
	Body  string `yaml:"body"`
	Pad   string `yaml:"pad"`
	Size  int    `yaml:"size"`
}

func (i issueText) text() (title, body string) {
	if i.Pad == "" {
		return i.Title, i.Body
	}
	return i.Title, i.Body + strings.Repeat(i.Pad, max(0, (i.Size-len(i.Body))/len(i.Pad)+1))
}

// mess prepares what stands before the trigger.
func (w *world) mess(g Garbage) {
	w.t.Helper()
	for _, line := range g.Git {
		out, err := exec.Command("git", append([]string{"-C", w.repo.Dir()}, strings.Fields(line)...)...).CombinedOutput()
		if err != nil {
			w.t.Fatalf("git %s: %v\n%s", line, err, out)
		}
	}
	w.disturb(g.Before)
}

// disturb does things to the issue, as people do at the wrong moment.
func (w *world) disturb(steps []string) {
	w.t.Helper()
	full := w.repo.FullName()
	for _, step := range steps {
		switch step {
		case "close":
			w.must(w.hub.CloseIssue(full, w.issue, user))
		case "lock":
			w.must(w.hub.LockIssue(full, w.issue, true))
		case "delete":
			w.must(w.hub.DeleteIssue(full, w.issue, user))
		case "transfer":
			other, err := w.hub.CreateRepo(owner, "elsewhere", nil)
			w.must(err)
			_, err = w.hub.TransferIssue(full, w.issue, user, other.FullName())
			w.must(err)
		default:
			w.t.Fatalf("no such step: %s", step)
		}
	}
}

// addKeyless configures models of a real provider, for which there is no key.
func (w *world) addKeyless(names []string) {
	for _, name := range names {
		m := w.cfg.Models.Models[0]
		m.Name, m.Provider, m.Script = name, "openai", ""
		w.cfg.Models.Models = append(w.cfg.Models.Models, m)
	}
}

// otherTexts are the texts of ours beside comments and pull requests: check runs,
// and the messages of the commits on our branches.
func (w *world) otherTexts() string {
	w.t.Helper()
	var texts []string
	checks, err := w.hub.Checks(w.repo.FullName())
	w.must(err)
	for _, c := range checks {
		texts = append(texts, c.Name, c.Title, c.Summary, c.Text)
	}
	branches, err := w.hub.Branches(w.repo.FullName())
	w.must(err)
	for name, sha := range branches {
		if strings.HasPrefix(name, "ai/") { // by its commit: the branch may be released meanwhile
			out, err := exec.Command("git", "-C", w.repo.Dir(), "log", "--format=%B", sha).Output()
			w.must(err)
			texts = append(texts, name, string(out))
		}
	}
	return strings.Join(texts, "\n")
}
