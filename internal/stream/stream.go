// Package stream keeps an answer open that goes on while something changes.
package stream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// frameTime is the least time between two frames.
	frameTime = 100 * time.Millisecond
	// idleTime is how long a stream says nothing: proxies close a silent one.
	idleTime = 15 * time.Second
)

// ErrEnd ends a stream that has said everything.
var ErrEnd = errors.New("the stream is at its end")

// Stream is an open answer.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	beat    string
}

// Open begins the answer with a first frame; beat is the frame of a stream that has nothing to say.
// A stream always begins with 200: browsers do not try again after an error.
func Open(w http.ResponseWriter, kind, first, beat string) Stream {
	s := Stream{w, http.NewResponseController(w), beat}
	_ = s.control.SetReadDeadline(time.Time{}) // the server's deadline for requests would cut it
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Accel-Buffering", "no")
	_ = s.send(first)
	return s
}

// Events begins an answer of server-sent events.
func Events(w http.ResponseWriter) Stream {
	return Open(w, "text/event-stream; charset=utf-8", "retry: 1000\n\n", ": still here\n\n")
}

// send writes a frame. A reader that takes none for a while is gone.
func (s Stream) send(frame string) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(s.w, frame); err != nil {
		return err
	}
	return s.control.Flush()
}

// Follow calls tell at the start and after changes, and sends the frame that it returns unless that is "". It ends when
// ctx does, stopped or changes is closed, the reader is gone, or tell returns an error.
func (s Stream) Follow(ctx context.Context, changes, stopped <-chan struct{}, tell func() (frame string, err error)) {
	idle := time.NewTicker(idleTime)
	defer idle.Stop()
	for {
		frame, err := tell()
		if frame != "" && s.send(frame) != nil || err != nil { // the reader comes again
			return
		}
		pause := time.NewTimer(frameTime)
		select {
		case <-pause.C:
		case <-ctx.Done():
		case <-stopped:
		}
		select {
		case <-ctx.Done():
			return
		case <-stopped:
			return
		case _, more := <-changes:
			if !more {
				return
			}
		case <-idle.C:
			if s.send(s.beat) != nil {
				return
			}
		}
	}
}
