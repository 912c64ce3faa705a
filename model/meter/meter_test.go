package meter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model/meter"
	"github.com/yudai-dev/yudai/solve"
)

// call is one of 400 bytes and 1000 tokens of a reply: an estimate of 100 tokens of input.
func call(api string) meter.Call {
	return meter.Call{API: api, Price: agent.Price{Input: 1, CachedInput: 0.5, CacheWrite: 2, Output: 10}, Bytes: 400, Reply: 1000}
}

// TestUsageThatCannotBeTrue: what the provider says is believed where it can be true; anything
// else is estimated at four bytes a token and marked.
func TestUsageThatCannotBeTrue(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word", 300) // the reply has 1248 bytes or so
	for _, c := range []struct {
		name, usage string
		input       int64
		marked      bool
	}{
		{"true", `{"prompt_tokens":90,"completion_tokens":80,"total_tokens":170}`, 90, false},
		{"true, with a cache", `{"prompt_tokens":90,"completion_tokens":80,"prompt_tokens_details":{"cached_tokens":90}}`, 90, false},
		{"thoughts in the total only", `{"prompt_tokens":90,"completion_tokens":80,"total_tokens":270}`, 90, false},
		{"a provider's own prompt", `{"prompt_tokens":2000,"completion_tokens":80}`, 2000, false},
		{"none", `null`, 100, true},
		{"empty", `{}`, 100, true},
		{"zero", `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, 100, true},
		{"no input", `{"prompt_tokens":0,"completion_tokens":80}`, 100, true},
		{"no output", `{"prompt_tokens":90,"completion_tokens":0}`, 90, true},
		{"negative", `{"prompt_tokens":-90,"completion_tokens":-80}`, 100, true},
		{"negative cache", `{"prompt_tokens":90,"completion_tokens":80,"prompt_tokens_details":{"cached_tokens":-9223372036854775808}}`, 100, true},
		{"more cached than sent", `{"prompt_tokens":90,"completion_tokens":80,"prompt_tokens_details":{"cached_tokens":91}}`, 100, true},
		{"a total that is less", `{"prompt_tokens":90,"completion_tokens":80,"total_tokens":100}`, 100, true},
		{"a wild total", `{"prompt_tokens":90,"completion_tokens":80,"total_tokens":1e18}`, 100, true},
		{"wild", `{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807}`, 100, true},
		{"beyond a float", `{"prompt_tokens":1e999,"completion_tokens":80}`, 100, true},
		{"more than was sent", `{"prompt_tokens":100000,"completion_tokens":80}`, 100, true},
		{"more than was asked for", `{"prompt_tokens":90,"completion_tokens":1001}`, 90, true},
		{"fewer than can be", `{"prompt_tokens":90,"completion_tokens":1}`, 90, true},
		{"words", `{"prompt_tokens":"many","completion_tokens":[]}`, 100, true},
	} {
		m := meter.Meter{Call: call(agent.APIChat)}
		if !m.Whole([]byte(fmt.Sprintf(`{"choices":[{"index":0,"message":{"content":%q}}],"usage":%s}`, words, c.usage))) {
			t.Fatal(c.name)
		}
		b := m.Bill()
		if b.Input != c.input || b.Marked != c.marked || b.Output < 80 || b.Calls != 1 || b.Cost > m.Bound() || b.Unbooked != 0 {
			t.Errorf("%s: %+v", c.name, b)
		}
	}
}

// TestShortReplyIsBelieved: the JSON around a reply of one token is many times as long, where a
// provider writes it over many lines or tells what it filtered.
func TestShortReplyIsBelieved(t *testing.T) {
	t.Parallel()
	for api, answer := range map[string]string{
		agent.APIChat: `{"choices": [
    {
      "content_filter_results": {"hate": {"filtered": false, "severity": "safe"}, "self_harm": {"filtered": false, "severity": "safe"}},
      "finish_reason": "stop",
      "index": 0,
      "logprobs": null,
      "message": {"annotations": [], "content": "Yes", "refusal": null, "role": "assistant"}
    }
  ], "usage": {"prompt_tokens": 90, "completion_tokens": 1, "total_tokens": 91}}`,
		agent.APIResponses: `{"status": "completed", "output": [
    {
      "id": "msg_67ccd3acc8d48190a77525dc6de64b4104becb25c45c1d41",
      "type": "message",
      "status": "completed",
      "role": "assistant",
      "content": [{"type": "output_text", "text": "Yes", "annotations": [], "logprobs": []}]
    }
  ], "usage": {"input_tokens": 90, "output_tokens": 1, "total_tokens": 91}}`,
	} {
		m := meter.Meter{Call: call(api)}
		if !m.Whole([]byte(answer)) {
			t.Fatal(api)
		}
		if b := m.Bill(); b.Marked || b.Input != 90 || b.Output != 1 || b.Cost != 100 {
			t.Errorf("%s: %+v", api, b)
		}
	}
}

// TestNoCallBooksMoreThanItsBound: a reply that is longer than what was asked for costs what was
// asked for, and the rest is told.
func TestNoCallBooksMoreThanItsBound(t *testing.T) {
	t.Parallel()
	for _, api := range []string{agent.APIChat, agent.APIResponses, agent.APIMessages} {
		m := meter.Meter{Call: call(api)}
		words := fmt.Sprintf(`"%s"`, strings.Repeat("word", 100_000))
		if !m.Whole([]byte(`{"choices":[` + words + `],"output":[` + words + `],"content":[` + words + `]}`)) {
			t.Fatal(api)
		}
		if b := m.Bill(); b.Cost != m.Bound() || b.Unbooked < solve.Money(900_000) || !b.Marked {
			t.Errorf("%s: %+v, bound %s", api, b, m.Bound())
		}
	}
}

// TestTriesThatWereGivenUp: what was sent is paid for, once for each try, answered or not.
func TestTriesThatWereGivenUp(t *testing.T) {
	t.Parallel()
	m := meter.Meter{Call: call(agent.APIChat), Failure: "failed"}
	if b := m.Bill(); b != (meter.Bill{}) {
		t.Errorf("nothing was made, and booked is %+v", b)
	}
	m.Lose()
	m.Lose()
	if b := m.Bill(); b.Calls != 0 || b.Input != 200 || b.Cost != 200 || !b.Marked {
		t.Errorf("two tries: %+v", b)
	}
	m.Failure = ""
	m.Whole([]byte(`{"choices":[{}],"usage":{"prompt_tokens":90,"completion_tokens":10}}`))
	if b := m.Bill(); b.Calls != 1 || b.Input != 290 || b.Output != 10 || !b.Marked {
		t.Errorf("and an answer: %+v", b)
	}
}

// TestTooLong: a reply may have a quarter more bytes than its tokens make, and no more.
func TestTooLong(t *testing.T) {
	t.Parallel()
	m := meter.Meter{Call: call(agent.APIChat)}
	for m.Events < 2000 && !m.TooLong() {
		m.Event([]byte(`{"choices":[{"delta":{"content":"word"}}]}`))
	}
	if m.Events < 1250 || m.Events > 1600 {
		t.Errorf("cut after %d tokens of 1000", m.Events)
	}
}

// TestWholeAnswerTooLong: JSON may have 16 bytes a token that was asked for, and no more, whatever the usage says.
func TestWholeAnswerTooLong(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]bool{5000: false, 15_000: false, 30_000: true} {
		m := meter.Meter{Call: call(agent.APIChat)}
		m.Whole(fmt.Appendf(nil, `{"choices":[{"message":{"content":"%s"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
			strings.Repeat("w", bytes)))
		if m.TooLong() != want {
			t.Errorf("%d bytes for 1000 tokens: %v", bytes, !want)
		}
	}
}
