package e2b

import (
	"maps"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// What is in records.Record.More. ID is the sandbox's, of a base that of the
// parent that was frozen, as long as it is there; Key is what its metadata name
// the call that made it, which forks have from their parent.
const (
	moreFrom     = "from"     // the base it was opened from
	moreUntil    = "until"    // when its time to live is over
	moreNetwork  = "network"  // what it may reach
	moreSize     = "size"     // what it costs for an hour
	moreOpening  = "opening"  // it is not usable, yet
	moreFreezing = "freezing" // the name of a snapshot that is being made of it
	moreSnapshot = "snapshot" // of a base: the id of the snapshot
	moreLaunch   = "launch"   // it may launch programs
)

// unknown is the network of a sandbox while it is being changed.
const unknown = "?"

// The keys of a sandbox's metadata: [a-z-] alone, which needs no escaping.
const (
	metaDeployment = "yudai-deployment"
	metaName       = "yudai-name"
	metaCall       = "yudai-call"
	metaLabel      = "yudai-label-"
)

// metadata is what a new sandbox carries at the service.
func (d *Driver) metadata(r records.Record) map[string]string {
	m := map[string]string{metaDeployment: d.book.Deployment(), metaName: r.Name, metaCall: r.Key}
	for k, v := range r.Labels {
		m[metaLabel+k] = v
	}
	return m
}

// newRecord is the note of a sandbox before it is made.
func newRecord(spec sandbox.Spec) records.Record {
	now := time.Now().UTC()
	r := records.Record{
		Name: spec.Name, Key: newKey(), Labels: maps.Clone(spec.Labels), Created: now,
		More: map[string]string{moreOpening: "1", moreFrom: spec.From, moreNetwork: rules(spec.Network).key()},
	}
	if spec.Launch {
		r.More[moreLaunch] = "1"
	}
	if spec.TTL > 0 {
		r.More[moreUntil] = now.Add(spec.TTL).Format(time.RFC3339Nano)
	}
	return r
}

// life is for how long from now a sandbox is asked to live: the lease, and never
// beyond its time to live.
func (c Config) life(r records.Record) time.Duration {
	until, err := time.Parse(time.RFC3339Nano, r.More[moreUntil])
	if err != nil {
		return c.Lease
	}
	return max(time.Second, min(c.Lease, time.Until(until)))
}

// expired reports that the time to live is over.
func expired(r records.Record) bool {
	until, err := time.Parse(time.RFC3339Nano, r.More[moreUntil])
	return err == nil && !time.Now().Before(until)
}

// info is what others get to know of a record.
func info(r records.Record) sandbox.Info {
	return sandbox.Info{Name: r.Name, Labels: r.Labels, Base: r.Base, Created: r.Created}
}

// with returns the record with one more thing to remember; "" forgets it.
func with(r records.Record, key, value string) records.Record {
	r.More = maps.Clone(r.More)
	if r.More == nil {
		r.More = map[string]string{}
	}
	if value == "" {
		delete(r.More, key)
	} else {
		r.More[key] = value
	}
	return r
}
