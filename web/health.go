package web

import (
	"net/http"
	"time"
)

// Health is what its last use, or the check at the start, says of a driver or a model.
type Health struct {
	Model bool // else a driver
	Name  string
	Level Level
	Since time.Time // it is so; zero if it was not used yet
	Error string    // what is wrong with it
}

// healthRow is a driver or a model on the board.
type healthRow struct {
	Kind, Name, Since, Error string
	Mark                     mark
}

// healthFor are the drivers and models as who asks may see them: errors tell of the installation, and are the operator's.
func (p *Pages) healthFor(r *http.Request) (out []healthRow) {
	if p.Health == nil {
		return nil
	}
	for _, h := range p.Health() {
		one, word := healthRow{Kind: "driver", Name: h.Name}, "ready"
		if h.Model {
			one.Kind, word = "model", "answers"
		}
		switch h.Level {
		case Bad:
			word = "fails"
		case "":
			word = "not asked yet"
		}
		one.Mark = h.Level.mark(word)
		if !h.Since.IsZero() {
			one.Since = h.Since.UTC().Format(clockForm)
		}
		if viewer(r.Context()).operator() {
			one.Error = h.Error
		}
		out = append(out, one)
	}
	return out
}
