package bolt

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/yudai-dev/yudai/solve"
)

// deliveryRecord is a delivery without its payload, which follows it.
type deliveryRecord struct {
	V        int       `json:"v"`
	GUID     string    `json:"guid"`
	Event    string    `json:"event"`
	Action   string    `json:"action"`
	Received time.Time `json:"received"`
	Packed   bool      `json:"packed,omitempty"` // the payload is compressed (S2, one block)
}

func (r *deliveryRecord) version() int { return r.V }

// guidKey is a delivery's key. GitHub's GUIDs are UUIDs of version 1, which
// begin with the fastest changing digits of the time. Written from the slowest
// on, deliveries of one commit stand side by side: one page to write, not one each.
func guidKey(guid string) []byte {
	const length, version = 36, 14
	if len(guid) == length && guid[8] == '-' && guid[13] == '-' && guid[version] == '1' && guid[18] == '-' {
		return []byte(guid[14:18] + guid[9:13] + guid[:8] + guid[18:] + "~")
	}
	return []byte(guid)
}

func checkGUID(guid string) error {
	if guid == "" || len(guid) > 200 || bytes.IndexByte([]byte(guid), 0) >= 0 {
		return fmt.Errorf("delivery %q: not a usable GUID", guid)
	}
	return nil
}

// packFrom is the size from which a payload is worth compressing, in bytes.
const packFrom = 1 << 10

// deliveryRow is the stored form of a delivery: one line of JSON, then the
// payload, compressed if that makes it smaller. Of many deliveries at once the
// bytes are what a commit takes long for; S2 is quick beside their writing, and is
// done here, before the writer's turn.
func deliveryRow(d solve.Delivery) ([]byte, error) {
	r := deliveryRecord{V: recordVersion, GUID: d.GUID, Event: d.Event, Action: d.Action, Received: d.Received}
	payload := d.Payload
	if len(payload) >= packFrom {
		if packed := s2.Encode(nil, payload); len(packed) < len(payload) {
			payload, r.Packed = packed, true
		}
	}
	line, err := encode("delivery", r)
	if err != nil {
		return nil, err
	}
	row := make([]byte, 0, len(line)+1+len(payload))
	return append(append(append(row, line...), '\n'), payload...), nil
}

// Delivery returns a delivery as it came, for replay and diagnosis;
// [solve.ErrNotFound] if it never came or is no longer kept.
func (s *Store) Delivery(ctx context.Context, guid string) (solve.Delivery, error) {
	var row []byte
	err := s.view(ctx, func(t *tx) error {
		k := guidKey(guid)
		at := t.get(deliveries, k)
		row = bytes.Clone(t.get(payloads, append(bytes.Clone(at), k...)))
		return nil
	})
	if err == nil && row == nil {
		err = solve.ErrNotFound
	}
	if err != nil {
		return solve.Delivery{}, fmt.Errorf("delivery %q: %w", guid, err)
	}
	line, payload, _ := bytes.Cut(row, []byte("\n"))
	var r deliveryRecord
	if err := decode("delivery "+guid, line, &r); err != nil {
		return solve.Delivery{}, err
	}
	if r.Packed {
		if payload, err = s2.Decode(nil, payload); err != nil {
			return solve.Delivery{}, fmt.Errorf("read the payload of delivery %q: %w", guid, err)
		}
	}
	return solve.Delivery{GUID: r.GUID, Event: r.Event, Action: r.Action, Payload: payload, Received: r.Received}, nil
}
