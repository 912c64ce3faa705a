package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/yudai-dev/yudai/report"
	"github.com/yudai-dev/yudai/solve"
)

// buttons are what a person may ask for on the page of a solve.
type buttons struct {
	Solve, Check string
	Cancel       bool   // it goes on; else it may be retried
	Revise       bool   // it has a pull request
	Runs         []pick // that may be picked
	Asked        string // what was asked for just now
}

// askable are the commands that have a button.
func askable() []solve.CommandKind {
	return []solve.CommandKind{solve.CommandCancel, solve.CommandRetry, solve.CommandPick, solve.CommandRevise}
}

// buttonsFor are those that who asks may press; nil is none.
func (p *Pages) buttonsFor(r *http.Request, v report.View) *buttons {
	me, s := viewer(r.Context()), v.Solve
	if me.operator() || p.Ask == nil || !p.access.of(r.Context(), s.Repo, me.Person).Writes {
		return nil
	}
	b := &buttons{Solve: string(s.ID), Check: me.check(), Cancel: !s.State.Final()}
	if asked := r.URL.Query().Get("asked"); slices.Contains(askable(), solve.CommandKind(asked)) {
		b.Asked = asked
	}
	if b.Cancel {
		return b
	}
	b.Revise = s.Pull != nil || s.Target() != nil
	for _, run := range ordered(v) {
		if solve.Eligible(run) && (s.Decision == nil || run.N != s.Decision.Champion) {
			b.Runs = append(b.Runs, pick{N: run.N, Name: report.RunPageOf(v, run.N).Name})
		}
	}
	return b
}

// press asks for what a button says, as a comment would. It needs write access at this moment.
func (p *Pages) press(w http.ResponseWriter, r *http.Request) {
	s, err := p.Store.Solve(r.Context(), solve.ID(r.PathValue("id")))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	me, kind := viewer(r.Context()), solve.CommandKind(r.PostFormValue("do"))
	switch {
	case p.Ask == nil:
		p.fail(w, r, errors.New("nobody takes what the buttons ask for"))
		return
	case me.operator():
		http.Error(w, "Buttons are for people: sign in with GitHub.", http.StatusForbidden)
		return
	case !slices.Contains(askable(), kind):
		http.Error(w, "There is no such button.", http.StatusBadRequest)
		return
	case !p.access.of(r.Context(), s.Repo, me.Person).Writes || // of which there was no button: nothing is asked in its name
		!p.access.fresh(r.Context(), s.Repo, me.Person).Writes:
		http.Error(w, "This needs write access to "+s.Repo.String()+", as the commands do.", http.StatusForbidden)
		return
	}
	argument := map[solve.CommandKind]string{solve.CommandPick: r.PostFormValue("n"), solve.CommandRevise: r.PostFormValue("text")}[kind]
	problem, err := p.Ask(r.Context(), s, me.Person, kind, argument)
	switch {
	case err != nil:
		p.fail(w, r, err)
	case problem != "":
		http.Error(w, problem+" Go back, and correct it.", http.StatusUnprocessableEntity)
	default:
		to := "/solves/" + string(s.ID) + "?" + url.Values{"asked": {string(kind)}}.Encode()
		http.Redirect(w, r, to, http.StatusSeeOther)
	}
}
