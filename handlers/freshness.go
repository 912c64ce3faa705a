package handlers

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/solve"
)

// lateAfter is how long after its event a delivery is late: whether what asked for it still
// stands is then looked up before anything is done.
const lateAfter = 15 * time.Minute

// about names what a delivery asks for, beside its GUID, which no signature covers: the same
// words mean the same wish. It is "" for what does no harm a second time.
func (p payload) about(w solve.Intent) string {
	verb := solve.CommandKind("solve")
	if w.Command != nil {
		verb = w.Command.Kind
	}
	switch at := p.happened(); {
	case p.Comment.ID != 0:
		return fmt.Sprintf("comment:%d:%d:%s", p.Repository.ID, p.Comment.ID, verb)
	case p.Review.ID != 0:
		return fmt.Sprintf("review:%d:%d:%s", p.Repository.ID, p.Review.ID, verb)
	case verb == solve.CommandHindsight:
		return fmt.Sprintf("hindsight:%d:%d", p.Repository.ID, p.PullRequest.Number)
	case p.Action == "assigned" && !at.IsZero():
		return fmt.Sprintf("assigned:%d:%d:%d", p.Repository.ID, p.Issue.Number, at.Unix())
	case p.Action == "labeled" && !at.IsZero():
		return fmt.Sprintf("label:%d:%d:%s:%d", p.Repository.ID, p.Issue.Number, strings.ToLower(p.Label.Name), at.Unix())
	}
	return ""
}

// happened is when the event happened, zero where the payload does not say: that of a deletion
// tells when what is gone was made.
func (p payload) happened() time.Time {
	at, err := time.Parse(time.RFC3339, cmp.Or(p.Comment.Created, p.Review.Submitted, p.PullRequest.MergedAt, p.Issue.Updated))
	if err != nil || p.Action == "deleted" {
		return time.Time{}
	}
	return at
}

// age is how long ago the event happened, 0 where the payload does not say.
func (p payload) age(now time.Time) time.Duration {
	if at := p.happened(); !at.IsZero() {
		return now.Sub(at)
	}
	return 0
}

// late notes in what is asked for that its delivery is late, and what the comment said.
func (p payload) late(w solve.Intent) {
	said := ""
	if p.Comment.ID != 0 {
		said = solve.Digest(p.Comment.Body)
	}
	if w.Solve != nil {
		w.Solve.Trigger.Late, w.Solve.Trigger.Said = true, said
	}
	if w.Command != nil {
		w.Command.Late, w.Command.Said = true, said
	}
}

// DeliveryID is the id under which a delivery is stored: GitHub's GUID, or one that is made
// from another id.
func DeliveryID(given string) string {
	if guidShape.MatchString(given) {
		return strings.ToLower(given)
	}
	sum := sha256.Sum256([]byte(given))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8: made by a rule of our own
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
