package cloud

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/yudai-dev/yudai/sandbox/records"
)

// Journal holds the notes of one driver, and knows what is being done to them.
type Journal struct {
	book *records.Book

	mu     sync.Mutex
	locks  map[string]chan struct{} // by name: closed with the release
	making map[string]int           // by name of a base: calls that make copies of it
}

// NewJournal keeps notes in a book.
func NewJournal(book *records.Book) *Journal {
	return &Journal{book: book, locks: map[string]chan struct{}{}, making: map[string]int{}}
}

// Deployment is the name of this deployment, which everything at the provider carries.
func (j *Journal) Deployment() string { return j.book.Deployment() }

// Write makes a note durable.
func (j *Journal) Write(n Note) error {
	r, err := n.pack()
	if err != nil {
		return err
	}
	return j.book.Put(r)
}

// Read reads a note; fs.ErrNotExist if there is none.
func (j *Journal) Read(name string) (Note, error) {
	r, err := j.book.Get(name)
	if err != nil {
		return Note{}, err
	}
	return unpack(r), nil
}

// All reads every note.
func (j *Journal) All() ([]Note, error) {
	all, err := j.book.All()
	if err != nil {
		return nil, err
	}
	notes := make([]Note, len(all))
	for i, r := range all {
		notes[i] = unpack(r)
	}
	return notes, nil
}

// delete removes a note.
func (j *Journal) delete(name string) error { return j.book.Delete(name) }

// owned reads a note, and reports whether the owner still has the sandbox.
func (j *Journal) owned(name, owner string) (Note, bool, error) {
	n, err := j.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Note{}, false, nil
	}
	return n, err == nil && n.Owner == owner, err
}

// lock waits until nothing else is done to a name, and keeps it so until the release.
func (j *Journal) lock(ctx context.Context, name string) (release func(), err error) {
	for {
		j.mu.Lock()
		held, taken := j.locks[name]
		if !taken {
			held = make(chan struct{})
			j.locks[name] = held
			j.mu.Unlock()
			return func() {
				j.mu.Lock()
				delete(j.locks, name)
				j.mu.Unlock()
				close(held)
			}, nil
		}
		j.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryLock is lock for those who do not wait.
func (j *Journal) tryLock(name string) (release func(), ok bool) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	release, err := j.lock(ctx, name)
	return release, err == nil
}

// Making says that a call is making copies of a base, until it is done: what they are
// called is noted before that.
func (j *Journal) Making(base string) (done func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.making[base]++
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.making[base]--; j.making[base] == 0 {
			delete(j.making, base)
		}
	}
}

// busy lists the names to which something is being done.
func (j *Journal) busy() map[string]bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := map[string]bool{}
	for name := range j.locks {
		all[name] = true
	}
	for name := range j.making {
		all[name] = true
	}
	return all
}
