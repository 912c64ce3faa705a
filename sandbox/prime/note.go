package prime

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox/records"
)

// stage is how far a sandbox's record is. What is written down before a call is
// what the next process needs to undo it.
type stage string

const (
	// stageOpening: the call that makes it may be under way. The next owner asks for
	// it once more with the same key, or finds it by its labels, and deletes it.
	stageOpening stage = "opening"
	// stageReady: it can be attached to.
	stageReady stage = "ready"
	// stageClosing: it is not wanted any more; whoever sees this goes on deleting.
	stageClosing stage = "closing"
	// stageFrozen: a base. The sandbox that it was made of may still be there, if ID is set.
	stageFrozen stage = "frozen"
)

// note is a record with what this driver remembers beside.
type note struct {
	records.Record
	memo
}

// memo is the part of a note that lies in Record.More.
type memo struct {
	Stage      stage         `json:"stage"`
	Request    createRequest `json:"request"`
	Owner      string        `json:"owner,omitempty"`      // the handle that may close it
	Allow      []string      `json:"allow"`                // what it may reach, noted before it is asked for
	Launch     bool          `json:"launch,omitempty"`     // it may launch programs
	User       string        `json:"user,omitempty"`       // whom commands run as, "" for root
	Freezing   bool          `json:"freezing,omitempty"`   // there may be checkpoints of it that nobody wants
	Checkpoint string        `json:"checkpoint,omitempty"` // of a base, or of one in the making
	Parent     string        `json:"parent,omitempty"`     // the base that it was opened from
	DiskGB     float64       `json:"disk_gb,omitempty"`    // the size of its disk, which a fork inherits
	HourlyUSD  float64       `json:"hourly_usd,omitempty"` // what it costs
}

// memoKey is where the memo lies.
const memoKey = "prime"

// write makes a note durable.
func (d *Driver) write(n note) error {
	data, err := json.Marshal(n.memo)
	if err != nil {
		return fmt.Errorf("encode note of sandbox %s: %w", n.Name, err)
	}
	n.Base = n.Stage == stageFrozen
	n.More = map[string]string{memoKey: string(data)}
	return d.book.Put(n.Record)
}

// read reads a note; fs.ErrNotExist if there is none.
func (d *Driver) read(name string) (note, error) {
	r, err := d.book.Get(name)
	if err != nil {
		return note{}, err
	}
	return unpack(r), nil
}

// unpack reads what lies in a record. One that cannot be read is deleted like one on its way.
func unpack(r records.Record) note {
	n := note{Record: r}
	if err := json.Unmarshal([]byte(r.More[memoKey]), &n.memo); err != nil || n.Stage == "" {
		n.memo = memo{Stage: stageClosing}
	}
	return n
}

// owned reads the note of a sandbox if it still belongs to the owner.
func (d *Driver) owned(name, owner string) (note, bool, error) {
	n, err := d.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return note{}, false, nil
	}
	return n, err == nil && n.Owner == owner, err
}

// Labels at the service: one for all of ours, one for the deployment, one for the
// name, and those of the spec. The separator is not part of any key.
const (
	labelAll        = "yudai"
	labelDeployment = "deployment:"
	labelName       = "name:"
)

// labels are what a sandbox is labelled with.
func labels(deployment, name string, of map[string]string) []string {
	all := []string{labelAll, labelDeployment + deployment, labelName + name}
	for _, k := range slices.Sorted(maps.Keys(of)) {
		all = append(all, k+":"+of[k])
	}
	return all
}

// labelled reads name and labels back.
func labelled(o object) (name string, of map[string]string) {
	of = map[string]string{}
	for _, l := range o.Labels {
		k, v, ok := strings.Cut(l, ":")
		switch {
		case !ok || k+":" == labelDeployment:
		case k+":" == labelName:
			name = v
		default:
			of[k] = v
		}
	}
	return name, of
}

func hasLabels(o object, all []string) bool {
	have := map[string]bool{}
	for _, l := range o.Labels {
		have[l] = true
	}
	for _, l := range all {
		if !have[l] {
			return false
		}
	}
	return true
}

// memory is how long after its making a sandbox can be alive at all, with time to
// spare: its time to live is shorter.
const memory = (mostMinutes + 8*60) * time.Minute
