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
	row, err := read(ctx, s, func(t *tx) ([]byte, error) {
		k := guidKey(guid)
		row := t.get(payloads, append(bytes.Clone(t.get(deliveries, k)), k...))
		if row == nil {
			return nil, fmt.Errorf("delivery %q: %w", guid, solve.ErrNotFound)
		}
		return bytes.Clone(row), nil
	})
	if err != nil {
		return solve.Delivery{}, err
	}
	line, payload, _ := bytes.Cut(row, []byte("\n"))
	r, err := decode[deliveryRecord]("delivery "+guid, line)
	if err != nil {
		return solve.Delivery{}, err
	}
	if r.Packed {
		if payload, err = s2.Decode(nil, payload); err != nil {
			return solve.Delivery{}, fmt.Errorf("read the payload of delivery %q: %w", guid, err)
		}
	}
	return solve.Delivery{GUID: r.GUID, Event: r.Event, Action: r.Action, Payload: payload, Received: r.Received}, nil
}

// UnknownDeliveries returns those of the GUIDs that were never stored, or are no
// longer kept, in the order given.
func (s *Store) UnknownDeliveries(ctx context.Context, guids []string) ([]string, error) {
	return read(ctx, s, func(t *tx) (unknown []string, _ error) {
		for _, guid := range guids {
			if t.get(deliveries, guidKey(guid)) == nil {
				unknown = append(unknown, guid)
			}
		}
		return unknown, nil
	})
}

// healed is the name in bucket meta of the time until when deliveries were looked for.
const healed = "healed"

// Healed is until when missed deliveries have been looked for; zero if they never were.
func (s *Store) Healed(ctx context.Context) (time.Time, error) {
	return read(ctx, s, func(t *tx) (time.Time, error) { return timeOf(num(t.get(meta, []byte(healed)))), nil })
}

// SetHealed notes until when missed deliveries have been looked for.
func (s *Store) SetHealed(ctx context.Context, at time.Time) error {
	return s.update(ctx, "healed", func(t *tx) error {
		t.put(meta, []byte(healed), key(nil).time(at))
		return nil
	})
}
