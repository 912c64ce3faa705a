// Package meter counts what a call of a model used. The provider's numbers are believed as
// far as they can be true of the bytes that were sent and came; the rest is estimated, four
// bytes a token, and marked. No call is booked with more than the bound that was asked for.
package meter

import (
	"math"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/solve"
)

// LongestReply is the longest reply of any model known to us, in tokens.
const LongestReply = 128_000

const (
	// overhead is how many tokens a provider may add to a request: prompts of its own.
	overhead = 4096
	// longestToken is how many bytes a token may have: white space, in vocabularies known to us.
	longestToken = 128
	// envelope is how many bytes of an answer's JSON may stand around what the model wrote.
	envelope = 1024
	// wholeToken is how many bytes of JSON a token of an answer that is no stream may have on average: escapes and signatures
	// stand in it, too.
	wholeToken = 16
	// hourFactor is what writing to a cache that keeps for an hour costs beyond the usual one.
	hourFactor = 0.6
)

// Call is what is known of a call before it is made.
type Call struct {
	API   string
	Price agent.Price
	// Bytes is how long the request is.
	Bytes int64
	// Reply is the longest reply that was asked for, in tokens; 0 is not limited.
	Reply int64
}

// reply is the longest reply that is believed.
func (c Call) reply() int64 {
	if c.Reply > 0 {
		return c.Reply
	}
	return LongestReply
}

// Bound is what the call may cost at most: each byte of the request a token of the dearest
// kind, and the longest reply.
func (c Call) Bound() solve.Money {
	write := c.Bytes
	if c.API == agent.APIMessages {
		write += int64(math.Round(hourFactor * float64(c.Bytes)))
	}
	cost := func(t agent.Tokens) solve.Money { return c.Price.Usage(t).Cost }
	in := max(cost(agent.Tokens{Input: c.Bytes}), cost(agent.Tokens{CacheRead: c.Bytes}), cost(agent.Tokens{CacheWrite: write}))
	return in + cost(agent.Tokens{Output: c.reply()})
}

// Meter reads what a call used, out of an answer or event by event out of a stream.
type Meter struct {
	Call

	Begun     bool   // the model did something
	Ended     bool   // the stream said that it ends
	UsageOnly bool   // the event at hand holds the usage of a chat and nothing else
	Failure   string // the error that the answer told
	Events    int64

	reported   *usage // the provider's own numbers, the last ones
	first      *usage // those at the beginning of a message
	replyBytes int64  // bytes of the reply
	whole      bool   // they are those of its JSON, not of its text
	reason     bool   // the reply said why it ended
	lost       int64  // earlier tries
}

// Lose counts a try that was given up while the provider worked on it: what was sent is booked.
func (m *Meter) Lose() { m.lost++ }

// Came says that an answer of so many bytes came, whatever it is.
func (m *Meter) Came(bytes int) { m.Begun, m.replyBytes = true, int64(bytes) }

// TextTooLong says what is wrong with a reply that is [Meter.TooLong].
const TextTooLong = "the answer was cut: it is longer than the reply that was asked for"

// TooLong reports that the reply is longer than what was asked for: nobody may go on with it, because it would
// be paid for again with every later prompt. Honest text may have five bytes a token.
func (m *Meter) TooLong() bool {
	const grace = 256
	if m.whole {
		return m.replyBytes > (m.reply()+grace)*wholeToken
	}
	return quarter(m.replyBytes) > m.reply()+m.reply()/4+grace
}

// Bill is what a call is booked with.
type Bill struct {
	solve.Usage
	// Marked says that the usage is estimated: the provider's numbers are missing, cannot be
	// true, or pass the bound.
	Marked bool
	// Unbooked is what the call cost beyond its bound, by the provider's numbers or the estimate.
	Unbooked solve.Money
}

// Bill is what the call cost as far as it is known.
func (m *Meter) Bill() Bill {
	used, marked := m.used()
	t := used.Tokens
	answered := m.Begun || t != (agent.Tokens{})
	t.Input += m.lost * quarter(m.Bytes)
	if !answered && m.lost == 0 {
		return Bill{}
	}
	b := Bill{Usage: m.Price.Usage(t), Marked: marked || m.lost > 0}
	if !answered {
		b.Calls = 0 // though it was paid
	}
	t.CacheWrite += int64(math.Round(hourFactor * float64(used.hour)))
	b.Cost = m.Price.Usage(t).Cost
	if bound := m.Bound(); b.Cost > bound {
		b.Cost, b.Unbooked, b.Marked = bound, b.Cost-bound, true
	}
	return b
}

// used are the tokens of the try that was answered.
func (m *Meter) used() (t told, marked bool) {
	if m.reported != nil && m.Complete() {
		if t = m.believed(*m.reported); t.goodInput && t.goodReply {
			return t, false
		}
	}
	if m.Failure != "" && !m.Begun {
		return told{}, false
	}
	t = told{Tokens: agent.Tokens{Input: quarter(m.Bytes)}}
	for _, u := range []*usage{m.first, m.reported} {
		if u == nil {
			continue
		}
		now := m.believed(*u)
		if now.goodInput {
			output := t.Output
			t, t.Output = now, output
		}
		if now.goodReply {
			t.Output = max(t.Output, now.Output)
		}
	}
	t.Output = max(t.Output, quarter(m.replyBytes))
	return t, true
}

// believed judges the provider's numbers by the bytes: no token is sent that has none, and
// the reply that came has no token that is longer than any.
func (m *Meter) believed(u usage) told {
	t := u.told(m.API)
	in := t.input()
	t.goodInput = t.goodInput && (in > 0 || m.Bytes == 0) && in <= m.Bytes+overhead
	t.goodReply = t.goodReply && t.Output <= m.reply() && t.Output*longestToken+min(t.Output, 1)*envelope >= m.replyBytes
	return t
}

// Estimate is how many tokens a text of so many bytes has: one for four bytes.
func Estimate(bytes int) int64 { return quarter(int64(bytes)) }

func quarter(n int64) int64 { return (n + 3) / 4 }
