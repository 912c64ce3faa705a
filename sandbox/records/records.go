// Package records is what a process notes on its own disk about the sandboxes it
// opens at providers elsewhere: before a call that makes one, so that nothing
// that costs money is forgotten when the process dies in the middle of it.
//
// It also holds the name of this deployment, made up once: the providers' lists
// show the sandboxes of everybody who uses the same account.
package records

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/durable"
)

// Record is one sandbox or base, by its name in the deployment.
type Record struct {
	Name string `json:"name"`
	// ID is the provider's own id; "" while the call that makes it is under way.
	ID string `json:"id,omitempty"`
	// Key is the idempotency key that the call carries.
	Key     string            `json:"key,omitempty"`
	Base    bool              `json:"base,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Created time.Time         `json:"created"`
	// More is what the driver wants to remember beside, as words.
	More map[string]string `json:"more,omitempty"`
	// Detail is the same as JSON in a form of the driver's own.
	Detail json.RawMessage `json:"detail,omitempty"`
}

// Book holds the records of one driver. Its methods may be called concurrently
// for different names.
type Book struct {
	dir        string
	deployment string
}

// Open opens the book of a driver below dir, which all drivers share.
func Open(dir, driver string) (*Book, error) {
	at := filepath.Join(dir, driver)
	if err := durable.MakeDirs(at); err != nil {
		return nil, fmt.Errorf("open sandbox records: %w", err)
	}
	id, err := deployment(filepath.Join(dir, "deployment"))
	if err != nil {
		return nil, fmt.Errorf("open sandbox records: %w", err)
	}
	return &Book{dir: at, deployment: id}, nil
}

// deployment reads the id, or makes it. Two that make it at once agree: the first file stays.
func deployment(path string) (string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := durable.MakeDirs(filepath.Dir(path)); err != nil {
			return "", err
		}
		own := path + "." + rand.Text()
		if err := durable.WriteFile(own, []byte(strings.ToLower(rand.Text()[:12])+"\n")); err != nil {
			return "", err
		}
		if err := os.Link(own, path); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", errors.Join(err, os.Remove(own))
		}
		if err := errors.Join(os.Remove(own), durable.Sync(filepath.Dir(path))); err != nil {
			return "", err
		}
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(data))
	if len(id) != 12 {
		return "", fmt.Errorf("%s does not hold the name of a deployment: remove it to make a new one", path)
	}
	return id, nil
}

// Deployment is the name of this deployment: 12 of a-z and 2-7.
func (b *Book) Deployment() string { return b.deployment }

// path is a record's file. Names are checked by the drivers: [a-z0-9-].
func (b *Book) path(name string) string { return filepath.Join(b.dir, name+".json") }

// Put writes a record, durably, over the one of the same name.
func (b *Book) Put(r Record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode record of sandbox %s: %w", r.Name, err)
	}
	if err := durable.WriteFile(b.path(r.Name), append(data, '\n')); err != nil {
		return fmt.Errorf("write record of sandbox %s: %w", r.Name, err)
	}
	return nil
}

// Get reads a record; fs.ErrNotExist if there is none.
func (b *Book) Get(name string) (Record, error) {
	data, err := os.ReadFile(b.path(name))
	if err != nil {
		return Record{}, fmt.Errorf("read record of sandbox %s: %w", name, err)
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("read record of sandbox %s: %w", name, err)
	}
	return r, nil
}

// Delete removes a record; one that is not there is no error.
func (b *Book) Delete(name string) error {
	if err := os.Remove(b.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record of sandbox %s: %w", name, err)
	}
	return nil
}

// All reads every record, in the order of their names. A file that is gone by now, or
// that holds no record, is left out.
func (b *Book) All() ([]Record, error) {
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		return nil, fmt.Errorf("list sandbox records: %w", err)
	}
	var all []Record
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		r, err := b.Get(name)
		var unread *fs.PathError // what is read and is no record has another error
		switch {
		case err == nil:
			all = append(all, r)
		case errors.As(err, &unread) && !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return all, nil
}
