package web

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

const (
	// frameTime is the least time between two frames of a stream.
	frameTime = 100 * time.Millisecond
	// idleTime is how long a stream says nothing: proxies close a silent one.
	idleTime = 15 * time.Second
)

// stream is an open answer of server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// openStream begins the answer. A stream always begins with 200: browsers do not try again after an error.
func openStream(w http.ResponseWriter) stream {
	s := stream{w, http.NewResponseController(w)}
	_ = s.control.SetReadDeadline(time.Time{}) // the server's deadline for requests would cut it
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no")
	_ = s.send("retry: 1000\n\n")
	return s
}

// send writes a frame. A reader that takes none for a while is gone.
func (s stream) send(frame string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(time.Minute))
	if _, err := fmt.Fprint(s.w, frame); err != nil {
		return err
	}
	return s.control.Flush()
}

// each calls tell at the start and after changes in the store until the reader is gone. tell returns a frame, or "".
func (p *Pages) each(r *http.Request, s stream, tell func() (frame string, err error)) {
	changes := p.Store.Watch(r.Context())
	idle := time.NewTicker(idleTime)
	defer idle.Stop()
	for {
		frame, err := tell()
		if !p.sessions.has(r) { // signed out while it was read, or twelve hours are over
			return
		}
		if frame != "" && s.send(frame) != nil || err != nil { // the browser comes again
			return
		}
		pause := time.NewTimer(frameTime)
		select {
		case <-pause.C:
		case <-r.Context().Done():
		case <-p.stopped:
		}
		select {
		case <-r.Context().Done():
			return
		case <-p.stopped:
			return
		case <-changes:
		case <-idle.C:
			if s.send(": still here\n\n") != nil {
				return
			}
		}
	}
}

// live tells a page that what it shows has changed: of one solve, or of all. The page then reads itself again, so
// nothing can be lost or doubled. The ID of an event stands for what is shown.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) {
	id, last := solve.ID(r.URL.Query().Get("solve")), r.Header.Get("Last-Event-ID")
	p.each(r, openStream(w), func() (string, error) {
		now, err := p.fingerprint(r, id)
		if err != nil || now == last {
			return "", err
		}
		last = now
		return "event: changed\nid: " + now + "\ndata: \n\n", nil
	})
}

// fingerprint is equal for equal pages.
func (p *Pages) fingerprint(r *http.Request, id solve.ID) (string, error) {
	var list []solve.Solve
	var err error
	if id == "" {
		list, err = p.Store.LiveSolves(r.Context())
	} else {
		list = make([]solve.Solve, 1)
		list[0], err = p.Store.Solve(r.Context(), id)
	}
	sum := fnv.New64a()
	for _, s := range list {
		fmt.Fprint(sum, s.ID, s.Seq, s.State, s.Place, ";")
		runs, failed := p.Store.Runs(r.Context(), s.ID)
		if failed != nil {
			return "", failed
		}
		for _, run := range runs {
			fmt.Fprint(sum, run.State, run.Progress.Steps, run.Progress.Usage.Cost, ",")
		}
	}
	return fmt.Sprintf("%x", sum.Sum64()), err
}
