package agent

import (
	"context"
	"fmt"
)

// restoreHistory reads the stored history, or makes the first two messages.
func (r *run) restoreHistory(ctx context.Context) *Result {
	history, openLine := ReadTranscript(r.job.Resume)
	err := checkOrder(history)
	if err != nil {
		return &Result{Exit: ExitTranscript, Reason: "the stored transcript of the run is damaged", Err: err, Open: true}
	}
	r.history, r.openLine = history, openLine
	r.restoreProgress()
	if n := len(history); n > 0 && history[n-1].Role == RoleExit {
		return nil
	}
	if r.tree, err = r.job.Tree(ctx); err != nil {
		return new(FailureResult(ctx, fmt.Errorf("read work tree: %w", err)))
	}
	if err := r.addPrompts(); err != nil {
		return &Result{Exit: ExitTranscript, Reason: "the prompt could not be made", Err: err, Open: true}
	}
	if trees := storedTrees(r.history); len(trees) > 0 && trees[len(trees)-1] != r.tree {
		r.progress.Edits++ // the step that was interrupted changed the tree
	}
	for _, a := range unanswered(r.history) {
		r.answer(a, interrupted())
	}
	if n := len(r.unsaved); n > 0 {
		r.unsaved[n-1].Extra[keyTree] = r.tree
	}
	return r.save(ctx)
}

// restoreProgress takes the progress from the history where that is ahead: the transcript
// is durable before the progress is.
func (r *run) restoreProgress() {
	r.formatErrors = trailingFormatErrors(r.history)
	r.progress.Steps = max(r.progress.Steps, Turns(r.history))
	r.progress.Usage.Calls = max(r.progress.Usage.Calls, Turns(r.history))
	r.progress.Usage.Cost = max(r.progress.Usage.Cost, storedCost(r.history))
	r.progress.Edits = max(r.progress.Edits, storedEdits(r.history))
}

// addPrompts appends the system and the task message as far as they are missing.
func (r *run) addPrompts() error {
	for i, role := range []string{RoleSystem, RoleUser} {
		if len(r.history) > i {
			continue
		}
		text, err := renderPrompt([]string{"system.tmpl", "instance.tmpl"}[i], r.mini.cfg.Mode, r.job)
		if err != nil {
			return err
		}
		r.append(Message{Role: role, Content: text, Extra: map[string]any{}})
	}
	return nil
}
