package cloud

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Journal holds the notes of one driver, and knows what is being done to them.
type Journal struct {
	book  *records.Book
	locks sync.Map // channels by name
}

// NewJournal keeps notes in a book.
func NewJournal(book *records.Book) *Journal {
	return &Journal{book: book}
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

// Read reads a note; sandbox.ErrGone if there is none.
func (j *Journal) Read(name string) (Note, error) {
	r, err := j.book.Get(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = sandbox.ErrGone
	}
	if err != nil {
		return Note{}, err
	}
	return unpack(r), nil
}

// find reads the note of a base, or of a sandbox; sandbox.ErrGone if there is none.
func (j *Journal) find(name string, base bool) (Note, error) {
	if sandbox.CheckName(name) != nil {
		return Note{}, sandbox.ErrGone
	}
	n, err := j.Read(name)
	if err == nil && (n.Stage == Frozen) != base {
		err = sandbox.ErrGone
	}
	return n, err
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

// lock waits until nothing else is done to a name, and keeps it so until the release.
func (j *Journal) lock(ctx context.Context, name string) (release func(), err error) {
	held := make(chan struct{}) // closed with the release
	for {
		other, taken := j.locks.LoadOrStore(name, held)
		if !taken {
			return func() {
				j.locks.Delete(name)
				close(held)
			}, nil
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// TryLock is lock for those who do not wait.
func (j *Journal) TryLock(name string) (release func(), ok bool) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	release, err := j.lock(ctx, name)
	return release, err == nil
}

// busy lists the names to which something is being done.
func (j *Journal) busy() map[string]bool {
	all := map[string]bool{}
	j.locks.Range(func(name, _ any) bool {
		all[name.(string)] = true
		return true
	})
	return all
}
