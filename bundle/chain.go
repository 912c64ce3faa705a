package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/solve"
)

// chain is the directory of an installation's statements, one file each, never removed. The
// file with the highest number is the end of the chain, so there is nothing beside it that
// could disagree: whoever adds one holds the lock, and a file is there as a whole or not at all.
type chain struct{ dir string }

// link is one file of the chain.
type link struct {
	number int
	id     solve.ID
	path   string
}

// linkName is the number and the solve.
var linkName = regexp.MustCompile(`^([0-9]{8,})-(.+)\.dsse\.json$`)

// links are all files in order.
func (c chain) links() ([]link, error) {
	found, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, fmt.Errorf("read the chain of statements: %w", err)
	}
	var out []link
	for _, f := range found {
		if m := linkName.FindStringSubmatch(f.Name()); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				return nil, fmt.Errorf("read the chain of statements: %w", err)
			}
			out = append(out, link{n, solve.ID(m[2]), filepath.Join(c.dir, f.Name())})
		}
	}
	slices.SortFunc(out, func(a, b link) int { return a.number - b.number })
	return out, nil
}

// newest is the last statement of a solve; solve.ErrNotFound if there is none.
func (c chain) newest(id solve.ID) (sealed, error) {
	all, err := c.links()
	if err != nil {
		return sealed{}, err
	}
	for _, l := range slices.Backward(all) {
		if l.id == id {
			return l.read()
		}
	}
	return sealed{}, fmt.Errorf("statement of solve %s: %w", id, solve.ErrNotFound)
}

// sealed is a statement with its envelope.
type sealed struct {
	data []byte // the envelope's file
	envelope
	statement Statement
}

func (l link) read() (sealed, error) {
	data, err := os.ReadFile(l.path)
	if err != nil {
		return sealed{}, fmt.Errorf("read statement: %w", err)
	}
	return unseal(data)
}

func unseal(data []byte) (sealed, error) {
	e, err := openEnvelope(data)
	if err != nil {
		return sealed{}, err
	}
	st, err := parseStatement(e.Payload)
	return sealed{data, e, st}, err
}

// end is the place behind the last statement.
func (c chain) end() (Chain, error) {
	all, err := c.links()
	if err != nil || len(all) == 0 {
		return Chain{Number: 1}, err
	}
	last := all[len(all)-1]
	before, err := last.read()
	if err != nil {
		return Chain{}, fmt.Errorf("the chain ends with %s, which cannot be read (restore it from a copy): %w", last.path, err)
	}
	return Chain{last.number + 1, hexSum(before.Payload)}, nil
}

// add puts a statement at the end. seal signs it once its place is known.
func (c chain) add(ctx context.Context, st Statement, seal func(payload []byte) ([]byte, error)) error {
	unlock, err := lock(ctx, c.dir)
	if err != nil {
		return err
	}
	defer unlock()
	if st.Predicate.Chain, err = c.end(); err != nil {
		return err
	}
	payload, err := json.Marshal(st)
	if err != nil {
		return fmt.Errorf("encode statement: %w", err)
	}
	data, err := seal(payload)
	if err != nil {
		return fmt.Errorf("encode statement: %w", err)
	}
	name := fmt.Sprintf("%08d-%s.dsse.json", st.Predicate.Chain.Number, st.Predicate.Solve)
	return durable.WriteFile(filepath.Join(c.dir, name), data)
}

// lock keeps others, of this process or another, from a directory until release is called. It ends with the process.
func lock(ctx context.Context, dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for the lock of %s: %w", dir, context.Cause(ctx)), f.Close())
		}
	}
}
