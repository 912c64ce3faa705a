package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// result is an attack with what came of it.
type result struct {
	attack
	family string
	whole  bool     // it is all attacks of the family together
	broken []string // why it was not held
	notFor string   // why it does not apply here
}

// solveTime is how long a solve of an attack may take.
const solveTime = 5 * time.Minute

// alone plays a patch or a model: one solve of its own.
func (w *world) alone(ctx context.Context, a attack) (o outcome, err error) {
	repo := project
	if a.As == asModel {
		repo = owner + "/" + a.Name // what it spends is its own
	}
	issue, err := w.issue(repo, "Adding subtracts") // the name of the attack could look like a warning
	if err != nil {
		return o, err
	}
	began := time.Now()
	words := "models=" + a.Name
	if a.As == asModel && a.Agents {
		words += " agents=" + a.Name
	}
	id, s, err := w.ask(ctx, repo, issue, words, solveTime)
	o.seconds, o.tried = time.Since(began).Seconds(), w.provider.tried(a.Name)
	if err != nil {
		o.stuck = err.Error()
		return o, nil //nolint:nilerr // a solve that does not end is what the attack came to
	}
	o.text, _ = w.comments(repo, issue)
	o.text += s.State + " " + s.Reason + "\n"
	for _, e := range s.Experiments {
		o.usd += e.Cost
		o.text += e.State + " " + e.Reason + "\n" + w.transcript(id, e.Run)
	}
	outputs := strings.Join(w.provider.outputs(a.Name), "\n")
	o.text += outputs
	o.ended = strings.Contains(outputs, ended)
	o.shown, _ = w.comments(repo, issue)
	if id == "" {
		return o, nil
	}
	if err := w.published(ctx, repo, issue, &o); err != nil {
		return o, err
	}
	o.shown += o.body
	return o, w.following(ctx, repo, a, &o)
}

// following has the writer ask for an ordinary solve after the attack.
func (w *world) following(ctx context.Context, repo string, a attack, o *outcome) error {
	if !a.Safe.Next {
		return nil
	}
	issue, err := w.issue(repo, "after "+a.Name)
	if err != nil {
		return err
	}
	_, s, err := w.ask(ctx, repo, issue, "models="+careful, solveTime)
	if o.next = s.State; err != nil {
		o.next = err.Error()
	}
	return nil
}

// lied has the service of the sandboxes tell lies to one solve, and the truth to the one that follows.
func (w *world) lied(ctx context.Context, a attack) (o outcome, err error) {
	issue, err := w.issue(project, "Adding subtracts")
	if err != nil {
		return o, err
	}
	began := time.Now()
	w.place.liar.tell(a.Lies)
	_, s, err := w.ask(ctx, project, issue, "models="+careful, solveTime)
	asked, told := w.place.liar.tell(nil)
	o.seconds, o.tried = time.Since(began).Seconds(), told > 0
	if err != nil {
		o.stuck = err.Error()
		return o, nil //nolint:nilerr // a solve that does not end is what the attack came to
	}
	o.text, _ = w.comments(project, issue)
	o.shown = o.text + strings.Join(asked, "\n")
	for _, e := range s.Experiments {
		o.text += e.State + " " + e.Reason + "\n"
	}
	if o.memory, err = w.proc.MostMemory(); err != nil {
		return o, err
	}
	o.text += s.State + " " + s.Reason + "\n"
	if err := w.published(ctx, project, issue, &o); err != nil {
		return o, err
	}
	return o, w.following(ctx, project, a, &o)
}

// inSandbox plays all agents of the family that share a solve: those that share a run, those
// with a run of their own, and programs that call the gateway. A harmless run beside them
// must come to its end.
func (w *world) inSandbox(ctx context.Context, list []attack) (map[string]outcome, error) {
	models, agents := []string{careful, keeper}, []string{}
	for _, a := range list {
		switch {
		case a.As == asProgram:
			agents = append(agents, a.Name)
		case a.Alone:
			models = append(models, a.Name)
		case !slices.Contains(models, crowd):
			models = append(models, crowd)
		}
	}
	words := "models=" + strings.Join(models, ",")
	if len(agents) > 0 {
		words = "models=" + careful + " agents=mini," + strings.Join(agents, ",")
	}
	if err := w.elsewhere(ctx); err != nil {
		return nil, err
	}
	issue, err := w.issue(project, "attacks from inside")
	if err != nil {
		return nil, err
	}
	id, s, err := w.ask(ctx, project, issue, words, 2*solveTime)
	if err != nil {
		return nil, err
	}
	if s.State != "solved" {
		text, _ := w.comments(project, issue)
		return nil, fmt.Errorf("the harmless run beside the attacks came to nothing: %s %s: %s", s.State, s.Reason, last(text))
	}
	out := map[string]outcome{}
	for i, a := range list {
		var o outcome
		switch {
		case a.As == asProgram:
			for _, e := range s.Experiments {
				if e.Agent == a.Name {
					o.text, o.usd = w.transcript(id, e.Run)+e.State+" "+e.Reason, e.Cost
				}
			}
		case a.Alone:
			o.text, o.tried = strings.Join(w.provider.outputs(a.Name), "\n"), w.provider.tried(a.Name)
			for _, e := range s.Experiments {
				if e.Model == a.Name {
					o.text += e.State + " " + e.Reason
				}
			}
		default:
			if outputs, n := w.provider.outputs(crowd), stepOf(list, i); n < len(outputs) {
				o.text = outputs[n]
			}
		}
		o.ended = strings.Contains(o.text, ended)
		out[a.Name] = o
	}
	return out, nil
}

// elsewhere has an issue of the other repository solved, so that its mirror is there to be found.
func (w *world) elsewhere(ctx context.Context) error {
	issue, err := w.issue(other, "Adding subtracts")
	if err != nil {
		return err
	}
	_, s, err := w.ask(ctx, other, issue, "models="+careful, solveTime)
	if err == nil && s.State != "solved" {
		err = fmt.Errorf("the solve of the other repository came to nothing: %s %s", s.State, s.Reason)
	}
	return err
}

// stepOf is the step of an attack in the run that several share.
func stepOf(list []attack, i int) (n int) {
	for _, a := range list[:i] {
		if a.As == asAgent && !a.Alone {
			n++
		}
	}
	return n
}

// command plays an attack on the user's own machine, in a directory of its own.
func (w *world) command(ctx context.Context, a attack, binary string) (o outcome, err error) {
	dir := w.path("scripts", a.Name)
	if err := os.MkdirAll(filepath.Join(dir, "home"), 0o700); err != nil {
		return o, fmt.Errorf("make directory: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	began := time.Now()
	env := append(w.canaries.environment(), "YUDAI="+binary, "DIR="+dir, "HOME="+filepath.Join(dir, "home"), "CONFIG="+w.path("config.yml"),
		fmt.Sprintf("APP_ID=%d", w.app.ID), "APP_KEY="+string(w.app.PrivateKeyPEM), "URL="+w.proc.Address(), "STORE="+w.path("store"), "SANDBOXES="+w.path("sandboxes"), "SAMPLE="+w.path("work-project"))
	out, err := shell(ctx, dir, a.run(), env)
	o.text, o.seconds = out, time.Since(began).Seconds()
	if err != nil {
		o.text += "\n" + err.Error()
	}
	o.ended = strings.Contains(out, ended)
	for _, name := range w.canaries.in([]byte(out)) {
		o.text += "\nGOT the " + name
	}
	return o, nil
}
