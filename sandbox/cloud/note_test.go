package cloud

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/sandbox/records"
)

// TestNotesOfEarlierVersions: what the drivers wrote until November 2026 is read, and
// comes back the same in the form of today.
func TestNotesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 22, 9, 0, 0, 5, time.UTC)
	for file, c := range map[string]struct {
		old  string
		want Detail
	}{
		"e2b-ready": {
			`{"name":"e2b-ready","id":"i1","key":"k","labels":{"solve":"s"},"created":"2026-11-22T08:00:00Z","more":{"from":"base","until":"2026-11-22T09:00:00.000000005Z",
				"network":"*.a.example b.example","size":"0.1332","launch":"1","freezing":"yudai-d-k2"}}`,
			Detail{
				Stage: Ready, User: "user", Launch: true, Parent: "base", Until: until, Allow: []string{"*.a.example", "b.example"}, HourlyUSD: 0.1332,
				Freezing: "yudai-d-k2",
			},
		},
		"e2b-opening":  {`{"name":"e2b-opening","key":"k","more":{"from":"","network":"","opening":"1"}}`, Detail{Stage: Opening, User: "user", Allow: []string{}}},
		"e2b-changing": {`{"name":"e2b-changing","id":"i1","key":"k","more":{"from":"","network":"?"}}`, Detail{Stage: Ready, User: "user"}},
		"e2b-base": {
			`{"name":"e2b-base","id":"i2","key":"k","base":true,"more":{"from":"","network":"","snapshot":"s1:default","size":"1"}}`,
			Detail{Stage: Frozen, User: "user", Allow: []string{}, Snapshot: "s1:default", HourlyUSD: 1},
		},
		"prime-ready": {
			`{"name":"prime-ready","id":"p1","key":"k","more":{"prime":"{\"stage\":\"ready\",\"request\":{\"name\":\"x\"},\"owner\":\"o\",\"allow\":[\"a.example\"],` +
				`\"launch\":true,\"user\":\"u\",\"freezing\":true,\"parent\":\"b\",\"disk_gb\":10,\"hourly_usd\":0.2}"}}`,
			Detail{
				Stage: Ready, Owner: "o", Allow: []string{"a.example"}, Launch: true, User: "u", Freezing: "checkpoint", Parent: "b", DiskGB: 10, HourlyUSD: 0.2,
				Request: json.RawMessage(`{"name":"x"}`),
			},
		},
		"prime-base": {
			`{"name":"prime-base","key":"k","base":true,"more":{"prime":"{\"stage\":\"frozen\",\"request\":{\"name\":\"x\"},\"allow\":[],\"checkpoint\":\"c1\"}"}}`,
			Detail{Stage: Frozen, Allow: []string{}, Snapshot: "c1", Request: json.RawMessage(`{"name":"x"}`)},
		},
		"broken":  {`{"name":"broken","id":"p1","more":{"prime":"{"}}`, Detail{Stage: Closing}},
		"nothing": {`{"name":"nothing","id":"p1"}`, Detail{Stage: Closing}},
	} {
		dir := t.TempDir()
		book, err := records.Open(dir, "d")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "d", file+".json"), []byte(c.old), 0o600); err != nil {
			t.Fatal(err)
		}
		j := NewJournal(book)
		n, err := j.Read(file)
		if d := cmp.Diff(c.want, n.Detail); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", file, err, d)
		}
		if err := j.Write(n); err != nil {
			t.Error(err)
		}
		again, err := j.Read(file)
		if d := cmp.Diff(n, again); d != "" || err != nil {
			t.Errorf("%s in the new form: %v (-want +got)\n%s", file, err, d)
		}
	}
}

func TestLife(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		until, least, most time.Duration
	}{{0, time.Hour, time.Hour}, {2 * time.Hour, time.Hour, time.Hour}, {90 * time.Second, 80 * time.Second, 90 * time.Second}, {-time.Hour, time.Second, time.Second}} {
		var n Note
		if c.until != 0 {
			n.Until = time.Now().Add(c.until)
		}
		if life := n.Life(time.Hour); life < c.least || life > c.most {
			t.Errorf("a time to live of %s asks for %s", c.until, life)
		}
	}
}
