// Package rights asks GitHub what people may do. It looks everybody up who has a tie to the
// repository, and keeps a flood of strangers from costing a request and a write each.
package rights

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// Hub is what GitHub tells.
type Hub interface {
	// Permission tells the login's role in the repository, and whether it may write.
	Permission(ctx context.Context, repo solve.Repo, login string) (role string, write bool, err error)
}

const (
	// remembered is how long a stranger's refusal is good for. Somebody who gets rights is no
	// stranger any more, and is looked up at once.
	remembered = 10 * time.Minute
	// mostRemembered bounds each memory; beyond it any entry goes, which costs a request.
	mostRemembered = 4096
)

// lookups are the strangers of one repository that are looked up in vain, told the people of one
// installation who are told that they may not ask.
func lookups() rate { return rate{burst: 20, perHour: 10} }
func told() rate    { return rate{burst: 10, perHour: 20} }

// Answer is what somebody may do.
type Answer struct {
	Role  string
	Write bool
	// Silent: the refusal gets no answer. Enough of them were answered.
	Silent bool
}

// Rights looks people's rights up. It is safe for concurrent use.
type Rights struct {
	hub Hub

	mu      sync.Mutex
	people  map[string]person // by repository and login
	lookups map[int64]*bucket // by repository
	told    map[int64]*bucket // by installation
}

// person is what is remembered of somebody in a repository.
type person struct {
	writes bool // had rights when last looked up; this is never an answer
	role   string
	until  time.Time // of a refusal
	about  string    // what was refused last
	silent bool      // and it got no answer
}

// New asks hub.
func New(hub Hub) *Rights {
	return &Rights{hub: hub, people: map[string]person{}, lookups: map[int64]*bucket{}, told: map[int64]*bucket{}}
}

// Of looks up what a person may do. That somebody may write is always looked up; a refusal
// of a stranger is remembered, and when too many were refused, unknown strangers are refused unseen.
// About names what they ask for: asked again about the same, because a refusal could not be stored,
// it is silent only if it was before.
func (r *Rights) Of(ctx context.Context, repo solve.Repo, login string, stranger bool, about string) (Answer, error) {
	key := fmt.Sprintf("%d/%s", repo.ID, strings.ToLower(login))
	if no, refused := r.refusedUnseen(repo, key, stranger, about); refused {
		return no, nil
	}
	role, write, err := r.hub.Permission(ctx, repo, login)
	if err != nil {
		return Answer{}, err
	}
	p := person{writes: write, role: role, until: time.Now().Add(remembered), about: about}
	return Answer{Role: role, Write: write, Silent: r.remember(repo, key, p, stranger)}, nil
}

// Stands says whether a comment whose delivery was late is there and says what it said then.
func (r *Rights) Stands(ctx context.Context, repo solve.Repo, late bool, comment int64, said string) (bool, error) {
	hub, looks := r.hub.(interface {
		CommentDigest(ctx context.Context, repo solve.Repo, id int64) (string, error)
	})
	if !late || comment == 0 || said == "" || !looks {
		return true, nil
	}
	now, err := hub.CommentDigest(ctx, repo, comment)
	if errors.Is(err, solve.ErrNotFound) {
		return false, nil
	}
	return now == said, err
}

func (r *Rights) refusedUnseen(repo solve.Repo, key string, stranger bool, about string) (no Answer, refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, now := r.people[key], time.Now()
	switch {
	case !stranger || p.writes:
		return Answer{}, false
	case now.Before(p.until): // those who are remembered were told, unless this is what they are to be told of
		return Answer{Role: p.role, Silent: p.silent || p.about != about}, true
	}
	return Answer{Role: "none", Silent: true}, !bucketOf(r.lookups, repo.ID, lookups(), now).has(now)
}

// remember keeps what GitHub told. A refusal takes one of the installation's answers to people without
// rights, once for what it is about, and is silent where none is left.
func (r *Rights) remember(repo solve.Repo, key string, p person, stranger bool) (silent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if stranger && !p.writes {
		bucketOf(r.lookups, repo.ID, lookups(), now).take(now)
	}
	if old, known := r.people[key]; p.writes {
		p.silent = false
	} else if known && !old.writes && old.about == p.about {
		p.silent = old.silent
	} else {
		p.silent = !bucketOf(r.told, repo.Installation, told(), now).take(now)
	}
	makeRoom(r.people)
	r.people[key] = p
	return p.silent
}

func bucketOf(all map[int64]*bucket, id int64, r rate, now time.Time) *bucket {
	b := all[id]
	if b == nil {
		makeRoom(all)
		b = &bucket{rate: r, left: r.burst, at: now}
		all[id] = b
	}
	return b
}

// makeRoom lets one entry go if there are too many.
func makeRoom[K comparable, V any](m map[K]V) {
	for k := range m {
		if len(m) < mostRemembered {
			return
		}
		delete(m, k)
	}
}
