package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFamiliesAreComplete: the suite has the size and the families that are promised, every published finding among
// them, and a sample of every family.
func TestFamiliesAreComplete(t *testing.T) {
	t.Parallel()
	families, err := load()
	if err != nil {
		t.Fatal(err)
	}
	attacks, findings := 0, map[string]bool{}
	for _, f := range families {
		attacks += len(f.Attacks)
		if f.About == "" || !slices.ContainsFunc(f.Attacks, func(a attack) bool { return a.Sample }) {
			t.Errorf("%s says nothing about itself, or has no sample", f.Family)
		}
		for _, a := range f.Attacks {
			findings[a.Finding] = true
		}
	}
	if attacks < 160 {
		t.Errorf("only %d attacks", attacks)
	}
	for _, want := range []string{"F1", "F2", "F3", "F4", "F5", "F6"} {
		if !findings[want] {
			t.Errorf("no attack of the finding %s", want)
		}
	}
}

func TestCanariesAreFoundInEveryForm(t *testing.T) {
	t.Parallel()
	c := canaries{"key": "canary-ABCDEFGHIJKLMNOP"}
	back := []byte(c["key"])
	slices.Reverse(back)
	for _, text := range []string{
		"x " + c["key"] + " y", hex.EncodeToString([]byte("ab" + c["key"])), string(back),
		base64.StdEncoding.EncodeToString([]byte(c["key"])), base64.StdEncoding.EncodeToString([]byte("A=" + c["key"] + "\n")),
		"ghs_abcdefghijklmnopqrstuvwxyz0123456789", "ghs_12_eyJ.eyJ.abc",
	} {
		if len(c.in([]byte(text))) == 0 {
			t.Errorf("nothing found in %q", text)
		}
	}
	if found := c.in([]byte("canary-of-others ghs_ nothing")); len(found) > 0 {
		t.Error(found)
	}
}

// TestUnsafeOutcomesAreSeen: each field of safe breaks for an outcome that is not.
func TestUnsafeOutcomesAreSeen(t *testing.T) {
	t.Parallel()
	none := 0
	held := outcome{
		text: "fine " + ended, ended: true, tried: true,
		pull: true, warning: "look at CODEOWNERS", tree: "100644 a\n", usd: 1, next: "solved",
	}
	for name, tt := range map[string]struct {
		safe   safe
		unsafe func(*outcome)
	}{
		"got":      {safe{}, func(o *outcome) { o.text = "GOT it" }},
		"end":      {safe{}, func(o *outcome) { o.ended = false }},
		"says":     {safe{Says: "fine"}, func(o *outcome) { o.text = "bad" }},
		"lacks":    {safe{Lacks: "bad"}, func(o *outcome) { o.text = "bad" }},
		"status":   {safe{Status: []int{0}}, func(o *outcome) { o.status = 200 }},
		"solves":   {safe{Solves: &none}, func(o *outcome) { o.solves = 1 }},
		"writes":   {safe{Writes: &none}, func(o *outcome) { o.writes = 1 }},
		"warned":   {safe{Warned: "CODEOWNERS"}, func(o *outcome) { o.warning = "" }},
		"tree":     {safe{Tree: "-> /"}, func(o *outcome) { o.tree = "120000 a -> /etc" }},
		"solved":   {safe{Solved: true}, func(o *outcome) { o.pull = false }},
		"least":    {safe{Least: 0.5}, func(o *outcome) { o.usd = 0 }},
		"most":     {safe{Most: 2}, func(o *outcome) { o.usd = 3 }},
		"within":   {safe{Within: 5}, func(o *outcome) { o.seconds = 6 }},
		"answered": {safe{Answered: 5}, func(o *outcome) { o.waited = 30 }},
		"memory":   {safe{Memory: 100}, func(o *outcome) { o.memory = 101 }},
		"next":     {safe{Next: true}, func(o *outcome) { o.next = "failed" }},
		"tried":    {safe{}, func(o *outcome) { o.tried = false }},
		"stuck":    {safe{}, func(o *outcome) { o.stuck = "waited in vain" }},
	} {
		a := attack{As: asAgent, Alone: true, Script: "x", Safe: tt.safe}
		if bad := tt.safe.broken(a, held); len(bad) > 0 {
			t.Errorf("%s: safe, and yet %v", name, bad)
		}
		o := held
		tt.unsafe(&o)
		if len(tt.safe.broken(a, o)) == 0 {
			t.Errorf("%s: unsafe, and nothing was seen", name)
		}
	}
	if len(safe{Refused: true}.broken(attack{As: asComment}, held)) == 0 {
		t.Error("refused: unsafe, and nothing was seen")
	}
	if len(safe{Lacks: "x"}.broken(attack{As: asRequest}, outcome{})) == 0 {
		t.Error("no answer: nothing was tried, and nothing was seen")
	}
}

// TestMutationsAreOfThisSource: each mutation's text stands once in its file, and its attacks exist.
func TestMutationsAreOfThisSource(t *testing.T) {
	t.Parallel()
	families, err := load()
	if err != nil {
		t.Fatal(err)
	}
	list := mutationList()
	if len(list) < 5 {
		t.Errorf("only %d mutations", len(list))
	}
	for _, m := range list {
		data, err := os.ReadFile(filepath.Join("..", "..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(data), m.old); n != 1 {
			t.Errorf("%s: its text stands %d times in %s", m.name, n, m.file)
		}
		if len((&campaign{only: m.attacks}).chosen(families)) == 0 {
			t.Errorf("%s: no attack is called %s", m.name, m.attacks)
		}
	}
}

func TestScoreCounts(t *testing.T) {
	t.Parallel()
	s := sum([]result{
		{attack: attack{Name: "a"}},
		{attack: attack{Name: "b"}, broken: []string{"x"}},
		{attack: attack{Name: "c", Open: "known"}, broken: []string{"x"}},
		{attack: attack{Name: "d"}, notFor: "needs root"},
	})
	if s.tried != 3 || s.held != 1 || s.failed != 2 || s.open != 1 || s.notFor != 1 {
		t.Errorf("%+v", s)
	}
	if text := s.lines(); !strings.Contains(text, "3 tried, 1 held, 2 failed, 1 not applicable here") || !strings.Contains(text, "needs root") {
		t.Error(text)
	}
}

// TestTargetsAreAttacked: each number that the suite holds to zero has attacks that exist, by name, and say what would break it.
func TestTargetsAreAttacked(t *testing.T) {
	t.Parallel()
	families, err := load()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]attack{}
	for _, f := range families {
		for _, a := range f.Attacks {
			all[a.Name] = a
		}
	}
	for _, tt := range []struct {
		target  string
		holds   func(safe) bool
		attacks string
	}{
		{"0 secrets out", func(safe) bool { return true }, "host-secret-in-environment host-secret-in-files install-environment gateway-key-in-answer " +
			"key-in-the-error e2b-key-in-the-error prime-key-in-the-error docker-secret-in-environment core-file local-no-secrets-kept metrics-tell-no-secrets"},
		{"0 escapes", func(safe) bool { return true }, "proc-root proc-fd mount chroot user-namespace ptrace-first-process open-by-handle kill-host " +
			"write-usr loopback-of-the-host docker-privileges docker-engine-socket"},
		{"0 actions for people without rights", func(s safe) bool { return s.Solves != nil || s.Solved }, "stranger-solves reader-solves triage-solves " +
			"former-writer writer-of-another-repository label-by-triage label-by-stranger edited-by-a-moderator cancel-by-stranger pick-by-reader retry-by-reader command-in-a-fork"},
		{"0 unflagged files", func(s safe) bool { return s.Warned != "" || s.Refused }, "codeowners-root codeowners-docs codeowners-github npmrc-registry " +
			"lockfile-host paths-that-differ-in-case bidi-in-path invisible-in-path bidi-in-source invisible-in-source husky-hook vscode-task devcontainer " +
			"envrc lefthook pre-commit-config agents-md claude-md cursor-rules test-configuration build-configuration generated-code vendored-code binary-file new-dependency"},
		{"0 budgets passed by more than one call", func(s safe) bool { return s.Most > 0 }, "large-reply-without-usage endless-stream wild-prompt-tokens " +
			"wild-completion-tokens wild-usage-in-stream"},
	} {
		for _, name := range strings.Fields(tt.attacks) {
			if a, ok := all[name]; !ok || !tt.holds(a.Safe) || a.Open != "" {
				t.Errorf("%s: attack %s is missing, says nothing about it, or is known not to hold: %+v", tt.target, name, a.Safe)
			}
		}
	}
}

// TestPromisesAreAttacked: each promise of the README about safety has attacks that exist, by name, and
// there is no promise without.
func TestPromisesAreAttacked(t *testing.T) {
	t.Parallel()
	promises := []struct {
		says    string // the beginning
		attacks []string
	}{
		{"No GitHub token, model key", []string{"host-secret-in-environment", "install-git-credentials", "install-environment"}},
		{"Only a patch comes out", []string{"rename-base-meanwhile", "workflow-by-rename", "swap-file-and-link"}},
		{"The sandboxes of agents and tests have no network", []string{"own-network", "install-stays-open", "install-private-address", "install-rebinding"}},
		{"yudai looks permissions up", []string{"label-by-triage", "label-by-stranger", "rights-lost-meanwhile"}},
		{"Hidden text in issues", []string{"hidden-order-in-issue"}},
		{"Secrets never reach", []string{"key-in-the-error", "key-in-the-answer"}},
		{"A webhook without a valid", []string{"no-signature", "empty-secret"}},
		{"Runs share nothing", []string{"other-runs", "large-reply-without-usage", "usage-too-small", "endless-stream"}},
	}
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## What yudai promises about safety")
	text, _, _ = strings.Cut(text, "\n## ")
	told := regexp.MustCompile(`(?m)^\d+\. (.*)$`).FindAllStringSubmatch(text, -1)
	if len(told) != len(promises) {
		t.Fatalf("the README makes %d promises, and %d are attacked", len(told), len(promises))
	}
	families, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range promises {
		if !strings.HasPrefix(told[i][1], p.says) {
			t.Errorf("the README promises %q, the attacks are about %q", told[i][1], p.says)
		}
		for _, name := range p.attacks {
			if len((&campaign{only: "^" + name + "$"}).chosen(families)) == 0 {
				t.Errorf("%s: no attack is called %s", p.says, name)
			}
		}
	}
}

// TestWaysOutAreSearched: a secret in any answer of the API or the pages is seen, and an answer that is missing, too.
func TestWaysOutAreSearched(t *testing.T) {
	t.Parallel()
	const id, token = "dc1tq21ksdufk1sj34o0", "the-token"
	c := canaries{"key": "canary-ABCDEFGHIJKLMNOP"}
	var tell string // the path that tells the secret
	ask := request(func(_ context.Context, method, path string, header map[string]string, body string) (int, string, error) {
		text := map[string]string{"/solve?limit=100": `{"solves":[{"solve_id":"` + id + `"}]}`, "/login": "Set-Cookie: yudai=x; Path=/"}[path]
		page := !strings.HasPrefix(path, "/solve/") && !strings.HasPrefix(path, "/solve?")
		switch {
		case path == "/login" && body == "token="+token:
			return http.StatusSeeOther, text, nil
		case header["Authorization"] != "Bearer "+token && !page, page && header["Cookie"] != "yudai=x":
			return http.StatusUnauthorized, method, nil
		case path == tell:
			return http.StatusOK, text + c["key"], nil
		}
		return http.StatusOK, text, nil
	})
	texts, solves, problems := ask.shown(t.Context(), token)
	if len(solves) != 1 || len(problems) > 0 {
		t.Fatalf("solves %v, problems %v", solves, problems)
	}
	for where := range texts {
		if _, tell, _ = strings.Cut(where, " "); tell == "/login" {
			continue
		}
		seen, _, _ := ask.shown(t.Context(), token)
		if len(c.in([]byte(seen[where]))) == 0 {
			t.Errorf("%s told the secret, and nothing was seen", where)
		}
	}
	if _, _, problems := ask.shown(t.Context(), "another"); len(problems) == 0 {
		t.Error("nothing could be read, and nobody says so")
	}
}

// TestQuestionsAreSearched: a secret in a question to a model is seen.
func TestQuestionsAreSearched(t *testing.T) {
	t.Parallel()
	c := canaries{"key": "canary-ABCDEFGHIJKLMNOP"}
	p := &provider{search: c.in, leaked: map[string]bool{}, asked: map[string]int{}, seen: map[string][]string{}}
	for _, text := range []string{"fine", c["key"]} {
		body := `{"model": "m", "messages": [{"role": "user", "content": "` + text + `"}]}`
		p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body)))
		if found := p.noted(); (len(found) == 1) != (text == c["key"]) {
			t.Errorf("after %q: %v", text, found)
		}
	}
}

// TestServicesLie: a lie takes the place of the true answer or changes it, and what was asked is told.
func TestServicesLie(t *testing.T) {
	t.Parallel()
	honest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the truth") }))
	defer honest.Close()
	v, err := newLiar(t.Context(), honest.URL, "the-key")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.close() }()
	for _, tt := range []struct {
		lie  lie
		says string
		told int
	}{
		{lie{On: "^POST "}, "the truth", 0}, {lie{On: "^GET /a$", Status: 418, Body: "no KEY"}, "no the-key", 1},
		{lie{On: "/a", Change: "t(r)uth", To: "${1}umour"}, "the rumour", 1}, {lie{On: "/a", Change: "x", To: "y"}, "the truth", 0},
	} {
		v.tell([]lie{tt.lie})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.url()+"/a", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if asked, told := v.tell(nil); err != nil || string(text) != tt.says || told != tt.told || !slices.Equal(asked, []string{"GET /a"}) {
			t.Errorf("%+v: %q, %d told, asked %v, %v", tt.lie, text, told, asked, err)
		}
	}
}
