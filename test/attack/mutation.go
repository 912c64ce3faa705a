package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutation is a wall left out: text of a source file, and what stands in its place while the
// program is built. The attacks that must notice it are named.
type mutation struct {
	name, file, old, new string
	attacks              string // a pattern
}

func mutationList() []mutation {
	return []mutation{
		{
			name: "no-permission-check", file: "solver/plan/permission.go", attacks: "^stranger-solves$",
			old: "func (p *Planner) Authorize(ctx context.Context, s solve.Solve) error {\n",
			new: "func (p *Planner) Authorize(ctx context.Context, s solve.Solve) error {\n\tif ctx != nil {\n\t\treturn nil\n\t}\n",
		},
		{
			name: "private-addresses-open", file: "sandbox/egress/egress.go", attacks: "^install-(private|redirect)",
			old: "func (p *Proxy) open(a netip.Addr) bool {\n",
			new: "func (p *Proxy) open(a netip.Addr) bool {\n\tif a.IsValid() {\n\t\treturn true\n\t}\n",
		},
		{
			name: "no-system-call-filter", file: "sandbox/local/root.go", attacks: "^(syscalls-eperm|keyrings|io-uring-and-userfaultfd)$",
			old: `"--seccomp", fmt.Sprint(seccompFD), "--block-fd"`, new: `"--block-fd"`,
		},
		{
			name: "core-files-on", file: "cmd/core_files.go", attacks: "^core-file$",
			old: "unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})", new: "unix.Getpid()",
		},
		{
			name: "sandbox-ids-unread", file: "sandbox/cloud/client.go", attacks: "^e2b-id-is-dots$",
			old: "func IsID(id string) bool {", new: "func IsID(id string) bool { if id != \"\" { return true }; ",
		},
		{
			name: "links-may-leave", file: "patch/policy.go", attacks: "^link-up$",
			old: "case up > depth:", new: "case up > depth+99:",
		},
		{
			name: "gateway-takes-any-token", file: "model/gateway/handler.go", attacks: "^gateway-(no|changed)-token$",
			old: "if !hasToken(tokens, g.token(run)) {", new: "if !hasToken(tokens, g.token(run)) && len(tokens) == 0 {",
		},
	}
}

// mutations builds the program without each wall and tries the attacks that are for it.
// held says that all were noticed.
func (c *campaign) mutations(ctx context.Context, families []family) (held bool, err error) {
	noticed, tried := 0, 0
	list := mutationList()
	turn, err := strconv.Atoi(c.mutation)
	for i, m := range list {
		if c.mutation != "all" && c.mutation != m.name && (err != nil || turn%len(list) != i) {
			continue
		}
		tried++
		one := *c
		one.mutation, one.only, one.sample = "", m.attacks, false
		one.binary = filepath.Join(c.dir, "without-"+m.name)
		if err := one.without(ctx, m); err != nil {
			return false, err
		}
		results, err := one.try(ctx, one.chosen(families))
		if err != nil {
			return false, err
		}
		results = slices.DeleteFunc(results, func(r result) bool { return r.whole })
		switch s := sum(results); {
		case s.tried == 0:
			tried--
			fmt.Fprintf(c.out, "%s: not applicable here: %s\n", m.name, strings.Join(s.missing, "; "))
		case s.failed > s.open:
			noticed++
			fmt.Fprintf(c.out, "%s: noticed: %s\n", m.name, s.failures[0])
		default:
			fmt.Fprintf(c.out, "%s: NOT noticed: %s\n", m.name, s.line())
		}
	}
	fmt.Fprintf(c.out, "%d of %d mutations noticed\n", noticed, tried)
	return noticed == tried && tried > 0, nil
}

// without builds the program with the mutation's text in place of the wall.
func (c *campaign) without(ctx context.Context, m mutation) error {
	data, err := os.ReadFile(m.file)
	if err != nil {
		return fmt.Errorf("mutation %s: %w", m.name, err)
	}
	if strings.Count(string(data), m.old) != 1 {
		return fmt.Errorf("mutation %s: %s does not hold its text once: say what stands there now", m.name, m.file)
	}
	changed := c.binary + ".go"
	if err := os.WriteFile(changed, []byte(strings.Replace(string(data), m.old, m.new, 1)), 0o600); err != nil {
		return fmt.Errorf("mutation %s: %w", m.name, err)
	}
	source, err := filepath.Abs(m.file)
	if err != nil {
		return fmt.Errorf("mutation %s: %w", m.name, err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	if err != nil {
		return fmt.Errorf("mutation %s: %w", m.name, err)
	}
	if err := os.WriteFile(c.binary+".json", overlay, 0o600); err != nil {
		return fmt.Errorf("mutation %s: %w", m.name, err)
	}
	return c.compile(ctx, c.binary, "-overlay", c.binary+".json")
}
