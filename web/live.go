package web

import (
	"fmt"
	"hash/fnv"
	"net/http"

	"github.com/yudai-dev/yudai/internal/stream"
	"github.com/yudai-dev/yudai/solve"
)

// each calls tell at the start and after changes until the reader is gone. tell returns a frame, or "".
// It ends when who reads is signed out or may read the solve no more.
func (p *Pages) each(
	w http.ResponseWriter, r *http.Request, id solve.ID, changes <-chan struct{}, tell func() (frame string, err error),
) {
	stream.Events(w).Follow(r.Context(), changes, p.stopped, func() (string, error) {
		frame, err := tell()
		if !p.staysOpen(r, id) { // as it is after it was read
			return "", stream.ErrEnd
		}
		return frame, err
	})
}

// follow tells a page that what it shows has changed, by another fingerprint. The page then reads itself again, so
// nothing can be lost or doubled. The ID of an event stands for what is shown.
func (p *Pages) follow(
	w http.ResponseWriter, r *http.Request, id solve.ID, changes <-chan struct{}, fingerprint func() (string, error),
) {
	last := r.Header.Get("Last-Event-ID")
	p.each(w, r, id, changes, func() (string, error) {
		now, err := fingerprint()
		if err != nil || now == last {
			return "", err
		}
		last = now
		return "event: changed\nid: " + now + "\ndata: \n\n", nil
	})
}

// live follows one solve, or all.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) {
	id := solve.ID(r.URL.Query().Get("solve"))
	if !p.mayOpen(r, id) {
		p.fail(w, r, solve.ErrNotFound)
		return
	}
	p.follow(w, r, id, p.Store.Watch(r.Context()), func() (string, error) { return p.fingerprint(r, id) })
}

// fingerprint is equal for equal pages.
func (p *Pages) fingerprint(r *http.Request, id solve.ID) (string, error) {
	var list []solve.Solve
	var health []healthRow
	var err error
	if id == "" {
		list, err = p.Store.LiveSolves(r.Context())
		health = p.healthFor(r)
	} else {
		list = make([]solve.Solve, 1)
		list[0], err = p.Store.Solve(r.Context(), id)
	}
	sum := fnv.New64a()
	fmt.Fprint(sum, health)
	for _, s := range list {
		if !p.reads(r, s.Repo) {
			continue
		}
		fmt.Fprint(sum, s.ID, s.Seq, s.State, s.Place, ";")
		runs, failed := p.Store.Runs(r.Context(), s.ID)
		if failed != nil {
			return "", failed
		}
		for _, run := range runs {
			fmt.Fprint(sum, run.State, run.Progress.Steps, run.Progress.Usage.Cost, run.Progress.Waiting, ",")
		}
	}
	return fmt.Sprintf("%x", sum.Sum64()), err
}
