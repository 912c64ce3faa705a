package cloud

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Stage is how far a sandbox is. What is written down before a call is what the
// next process needs to undo it.
type Stage string

const (
	// Opening: the call that makes it may be under way. Whoever comes next finds what
	// there is and deletes it.
	Opening Stage = "opening"
	// Ready: it can be attached to.
	Ready Stage = "ready"
	// Closing: nobody wants it any more. Whoever sees this goes on deleting.
	Closing Stage = "closing"
	// Frozen: a base. Where ID is set the machine that it was made of may still be there.
	Frozen Stage = "frozen"
)

// Note is what is known of one sandbox or base. Record.ID is the provider's id, ""
// while the call that makes it is under way; Record.Key identifies that call.
type Note struct {
	records.Record
	Detail
}

// Detail is the part of a note that lies in Record.Detail.
type Detail struct {
	Stage     Stage     `json:"stage"`
	Owner     string    `json:"owner,omitempty"`      // the handle that may close it
	Launch    bool      `json:"launch,omitempty"`     // it may launch programs
	User      string    `json:"user,omitempty"`       // whom commands run as, "" for root
	Parent    string    `json:"parent,omitempty"`     // the base that it was opened from
	Until     time.Time `json:"until,omitzero"`       // when its time to live is over
	Allow     []string  `json:"allow"`                // the hosts that it may reach, noted before the service is asked
	Freezing  string    `json:"freezing,omitempty"`   // there may be snapshots of it that nobody wants: the name of the last
	Snapshot  string    `json:"snapshot,omitempty"`   // of a base: the snapshot's id
	DiskGB    float64   `json:"disk_gb,omitempty"`    // the size of its disk, which a copy inherits
	HourlyUSD float64   `json:"hourly_usd,omitempty"` // what it costs
	// Request is the provider's request for it, where it can be sent again.
	Request json.RawMessage `json:"request,omitempty"`
}

// Info is what others get to know of a note.
func (n Note) Info() sandbox.Info {
	return sandbox.Info{Name: n.Name, Labels: n.Labels, Base: n.Stage == Frozen, Created: n.Created}
}

// Life is the time for which a machine is asked to live from now on: at most so
// long, and never beyond its time to live.
func (n Note) Life(most time.Duration) time.Duration {
	if n.Until.IsZero() {
		return most
	}
	return max(time.Second, min(most, time.Until(n.Until)))
}

// pack makes the record of a note.
func (n Note) pack() (records.Record, error) {
	data, err := json.Marshal(n.Detail)
	if err != nil {
		return records.Record{}, fmt.Errorf("encode note of sandbox %s: %w", n.Name, err)
	}
	r := n.Record
	r.Base, r.More, r.Detail = n.Stage == Frozen, nil, data
	return r, nil
}

// unpack reads a note, also one in the form of an earlier version. A note that
// cannot be read is removed like one that is closing.
func unpack(r records.Record) Note {
	n := Note{Record: r}
	switch {
	case len(r.Detail) > 0:
		if json.Unmarshal(r.Detail, &n.Detail) != nil {
			n.Detail = Detail{}
		}
	case r.More[primeMemo] != "":
		n.Detail = fromPrimeMemo(r)
	case r.More != nil:
		n.Detail = fromE2BWords(r)
	}
	if n.Stage == "" {
		n.Detail = Detail{Stage: Closing}
	}
	n.Record.More, n.Record.Detail = nil, nil
	return n
}

// primeMemo is the key in Record.More under which the driver of Prime kept JSON
// until November 2026.
const primeMemo = "prime"

func fromPrimeMemo(r records.Record) Detail {
	var old struct {
		Detail
		Freezing   bool   `json:"freezing"`
		Checkpoint string `json:"checkpoint"`
	}
	if json.Unmarshal([]byte(r.More[primeMemo]), &old) != nil {
		return Detail{}
	}
	d := old.Detail
	d.Snapshot = old.Checkpoint
	if old.Freezing {
		d.Freezing = "checkpoint"
	}
	return d
}

// fromE2BWords reads what the driver of E2B kept in Record.More until November 2026:
// one word for each fact.
func fromE2BWords(r records.Record) Detail {
	d := Detail{
		Stage: Ready, User: "user", Launch: r.More["launch"] != "", Parent: r.More["from"],
		Freezing: r.More["freezing"], Snapshot: r.More["snapshot"],
	}
	switch {
	case r.Base:
		d.Stage = Frozen
	case r.More["opening"] != "" || r.ID == "":
		d.Stage = Opening
	}
	if network := r.More["network"]; network != "?" { // "?" stood for rules that were being changed: then nothing is open
		d.Allow = strings.Fields(network)
	}
	if until, err := time.Parse(time.RFC3339Nano, r.More["until"]); err == nil {
		d.Until = until
	}
	if usd, err := strconv.ParseFloat(r.More["size"], 64); err == nil {
		d.HourlyUSD = usd
	}
	return d
}
