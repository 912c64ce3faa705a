package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

const (
	// knownTime is how long GitHub's answer about a person's rights is good for, if it is no wish to change something.
	knownTime = time.Minute
	// mostKnown bounds the memory of answers.
	mostKnown = 4096
	// mostRefused is how many look-ups of an installation may be in vain in an hour: anybody with an account can sign
	// in, and each look-up takes from the requests that yudai works with. Then unknown people may read nothing for a while.
	mostRefused = 600
)

// access knows what people may read, as GitHub said within the last minute.
type access struct {
	ask func(ctx context.Context, repo solve.Repo, who solve.Person) (solve.Access, error)
	now func() time.Time

	mu      sync.Mutex
	known   map[accessKey]known
	refused map[int64]*refusals // by installation
}

type accessKey struct{ repo, person int64 }

type known struct {
	solve.Access
	until time.Time
}

// refusals counts look-ups in vain.
type refusals struct {
	n     int
	since time.Time
}

// of is what a person may do, from memory if that is fresh. Where GitHub does not answer it is nothing.
func (a *access) of(ctx context.Context, repo solve.Repo, who solve.Person) solve.Access {
	a.mu.Lock()
	old, met := a.known[accessKey{repo.ID, who.ID}]
	r := a.refused[repo.Installation]
	flooded := r != nil && r.n >= mostRefused && a.now().Sub(r.since) < time.Hour
	a.mu.Unlock()
	switch {
	case met && a.now().Before(old.until):
		return old.Access
	case flooded && !old.Reads:
		return solve.Access{}
	}
	return a.fresh(ctx, repo, who)
}

// fresh is what a person may do, asked now.
func (a *access) fresh(ctx context.Context, repo solve.Repo, who solve.Person) solve.Access {
	got, err := a.ask(ctx, repo, who)
	switch {
	case err != nil && ctx.Err() != nil: // who asked has left: that says nothing of the next time
		return solve.Access{}
	case err != nil:
		zerolog.Ctx(ctx).Warn().Err(err).Str(logkey.Repo, repo.String()).Msg("a person's rights are unknown, so the pages show nothing")
		got = solve.Access{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for k := range a.known {
		if len(a.known) < mostKnown {
			break
		}
		delete(a.known, k)
	}
	now := a.now()
	a.known[accessKey{repo.ID, who.ID}] = known{got, now.Add(knownTime)}
	if !got.Reads && err == nil {
		r := a.refused[repo.Installation]
		if r == nil || now.Sub(r.since) >= time.Hour {
			r = &refusals{since: now}
			a.refused[repo.Installation] = r
		}
		r.n++
	}
	return got
}

// reads says whether who asks may see what happens in a repository.
func (p *Pages) reads(r *http.Request, repo solve.Repo) bool {
	s := viewer(r.Context())
	return s.operator() || p.access.of(r.Context(), repo, s.Person).Reads
}

// mayOpen says whether who asks may see a solve; "" is none in particular.
func (p *Pages) mayOpen(r *http.Request, id solve.ID) bool {
	if id == "" || viewer(r.Context()).operator() {
		return true
	}
	s, err := p.Store.Solve(r.Context(), id)
	return err == nil && p.reads(r, s.Repo)
}

// staysOpen says whether a stream goes on: its session lives, and who reads still may.
func (p *Pages) staysOpen(r *http.Request, id solve.ID) bool {
	_, ok := p.sessions.find(r)
	return ok && p.mayOpen(r, id)
}
