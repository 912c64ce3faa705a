package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/yudai-dev/yudai/solve"
)

// superseded says that a check run was concluded as an extra one: check runs
// cannot be deleted.
func (c *check) superseded() bool { return c.conclusion == "neutral" && c.title == "superseded" }

// doubled names what is there more than once.
func doubled(g *github, left final) []string {
	var f findings
	pulls := map[string]int{}
	for _, p := range g.pulls {
		pulls[p.head]++
	}
	more(pulls, func(head string, n int) { f.add("%d pull requests from branch %s", n, head) })

	comments := map[[2]string]int{}
	for _, c := range g.comments {
		if c.owner == "" {
			f.add("comment %d of ours has no marker: it could not be found again", c.id)
		} else if !c.deleted {
			comments[[2]string{c.owner, c.kind}]++
		}
	}
	more(comments, func(mark [2]string, n int) { f.add("%d comments of kind %s for %s", n, mark[1], mark[0]) })

	checks := map[[3]string]int{}
	for _, c := range g.checks {
		if !c.superseded() {
			checks[[3]string{c.name, c.sha, c.external}]++
		}
	}
	more(checks, func(k [3]string, n int) { f.add("%d check runs %q (%s) on %s", n, k[0], k[2], k[1]) })

	solves := map[string]int{}
	for _, s := range left.solves {
		solves[cmp.Or(s.Trigger.Key, string(s.ID))]++
	}
	more(solves, func(key string, n int) { f.add("%d solves for the trigger %s", n, key) })
	return f
}

// more calls say for each key counted more than once, in order.
func more[K comparable](counts map[K]int, say func(K, int)) {
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b K) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, k := range keys {
		if counts[k] > 1 {
			say(k, counts[k])
		}
	}
}

// orphanBranches names the branches that belong to no solve.
func orphanBranches(g *github, left final) []string {
	var f findings
	for _, b := range g.branches {
		owned := slices.ContainsFunc(left.solves, func(s solve.Solve) bool { return s.Branch == b.name && s.Repo.String() == b.repo })
		if !b.deleted && !owned {
			f.add("branch %s of %s belongs to no solve", b.name, b.repo)
		}
	}
	return f
}
