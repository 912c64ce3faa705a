package solve

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// CheckName refuses what cannot be one part of a key and of a file's path.
func CheckName(what, name string) error {
	if name == "" || len(name) > 200 || name[0] == '.' {
		return fmt.Errorf("%s %q: not a usable name", what, name)
	}
	if i := strings.IndexFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}); i >= 0 {
		return fmt.Errorf("%s %q: only letters, digits and . _ - may be used", what, name)
	}
	return nil
}

// CheckArtifact refuses what cannot be the name of a solve's artifact.
func CheckArtifact(id ID, name string) error {
	if err := cmp.Or(CheckName("solve ID", string(id)), CheckName("artifact", name)); err != nil {
		return err
	}
	if strings.ToLower(name) != name {
		return fmt.Errorf("artifact %q: only lower-case names may be used", name)
	}
	return nil
}

// CheckNew refuses a solve that cannot be stored.
func CheckNew(s Solve) error {
	if err := CheckName("solve ID", string(s.ID)); err != nil {
		return err
	}
	if s.Trigger.Key == "" {
		return errors.New("the trigger key is empty")
	}
	return nil
}

// Queued is a new solve as it is stored first.
func (s Solve) Queued() Solve {
	s.V, s.State, s.Lease, s.Seq = recordVersion, StateQueued, Lease{}, 0
	return s
}

// Grant does what a delivery asks for: it inserts the solve, and returns the command to be
// stored, nil if there is none. insert returns the solve that stands in the way, if
// one does: of the same trigger, then nothing is to be done; or a live one of the same
// issue, then the person is told that it runs.
func Grant(d Delivery, w Intent, insert func(Solve) (stored Solve, created bool, err error)) (*Command, error) {
	if w.Command != nil {
		a := *w.Command
		a.ID = cmp.Or(a.ID, d.GUID)
		return &a, nil
	}
	if w.Solve == nil {
		return nil, nil
	}
	s := *w.Solve
	if s.Created.IsZero() {
		s.Created = d.Received
	}
	old, created, err := insert(s)
	if err != nil || created || old.Trigger.Key == s.Trigger.Key {
		return nil, err
	}
	return &Command{
		ID: d.GUID, Kind: CommandRunning, Repo: s.Repo, Issue: s.Issue.Number,
		Actor: s.Trigger.Actor, CommentID: s.Trigger.CommentID, At: d.Received,
	}, nil
}
