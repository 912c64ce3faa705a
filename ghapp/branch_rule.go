package ghapp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// ruleTexts are the rules of a repository that can refuse a branch or a commit of
// ours, and what GitHub's refusal says of each.
var ruleTexts = []struct{ rule, words string }{
	{"creation", "creations being restricted"},
	{"update", "cannot update this protected ref"},
	{"deletion", "cannot delete this"},
	{"non_fast_forward", "cannot force-push"},
	{"required_signatures", "verified signatures"},
	{"required_linear_history", "merge commits"},
	{"branch_name_pattern", "branch name must"},
	{"commit_message_pattern", "commit message must"},
	{"commit_author_email_pattern", "author email must"},
	{"committer_email_pattern", "committer email must"},
	{"pull_request", "made through a pull request"},
	{"required_status_checks", "required status check"},
	{"file_path_restriction", "file path"},
	{"max_file_path_length", "path length"},
	{"file_extension_restriction", "file extension"},
	{"max_file_size", "file size"},
}

// explain asks which rules hold for the branch once GitHub has refused it: asked
// before, the answer would not tell whether the App may bypass them.
func (t *writeTry) explainRefusal(ctx context.Context, refused error) error {
	if refused == nil || outcomeOf(refused) != outcomeRefused {
		return refused
	}
	branch := t.view.Solve.Branch
	if mentions(refused, "protected branch") {
		return permanent("branch %s is protected: %s", branch, refusalMessage(refused))
	}
	repo := t.e.Repo
	rules, err := get(ctx, t.read, "read branch rules",
		func(ctx context.Context, c *github.Client) ([]*github.RepositoryRule, *github.Response, error) {
			return c.Repositories.GetRulesForBranch(ctx, repo.Owner, repo.Name, branch)
		})
	if err != nil {
		return refused // the refusal says more than the failed question
	}
	r := refusingRule(rules, refused)
	switch {
	case r == nil:
		return refused
	case r.Type == "creation":
		return permanent("creation blocked: a rule of the repository forbids branch %s; "+
			"let the App bypass it or choose another branch template", branch)
	default:
		return permanent("branch %s breaks the repository's rule %s%s: %s; let the App bypass it or change the rule",
			branch, r.Type, patternOf(r), refusalMessage(refused))
	}
}

// refusingRule is the rule that a refusal names. If it names none, it is one of the
// rules that most often refuse our branches.
func refusingRule(rules []*github.RepositoryRule, refused error) *github.RepositoryRule {
	for _, known := range ruleTexts {
		for _, r := range rules {
			if r.Type == known.rule && mentions(refused, known.words) {
				return r
			}
		}
	}
	for _, r := range rules {
		switch r.Type {
		case "creation", "branch_name_pattern", "commit_message_pattern", "required_signatures":
			return r
		}
	}
	return nil
}

// patternOf tells the pattern of a rule that has one.
func patternOf(r *github.RepositoryRule) string {
	var p struct{ Operator, Pattern string }
	if r.Parameters == nil || json.Unmarshal(*r.Parameters, &p) != nil || p.Pattern == "" {
		return ""
	}
	return " (" + strings.ReplaceAll(p.Operator, "_", " ") + " " + report.CutMarkdown(p.Pattern, 100, "") + ")"
}

// refusalMessage is GitHub's own sentence in a refusal, on one line.
func refusalMessage(err error) string {
	var answer *github.ErrorResponse
	if !errors.As(err, &answer) {
		return "no message"
	}
	return solve.OneLine(Redact(answer.Message))
}
