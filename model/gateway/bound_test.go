package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
)

// TestEndlessStreamIsCut: a stream ends when it is longer than the reply that was asked for, and
// is booked with no more than what was asked for, whatever its numbers are.
func TestEndlessStreamIsCut(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("word", 1000)
	for _, c := range []struct{ api, provider, event, limit string }{
		{agent.APIChat, model.OpenAI, `{"choices":[{"index":0,"delta":{"content":%q}}]}`, "max_tokens"},
		{agent.APIResponses, model.OpenAI, `{"type":"response.output_text.delta","delta":%q}`, "max_output_tokens"},
		{agent.APIMessages, model.Anthropic, `{"type":"content_block_delta","delta":{"type":"text_delta","text":%q}}`, "max_tokens"},
	} {
		for limit, most := range map[string]int{"": 128_000, `,"` + c.limit + `":2000`: 2000} {
			w := newWorld(t, c.provider, nil, stream(strings.Repeat("data: "+fmt.Sprintf(c.event, word)+"\n\n", 300)))
			got := w.ask(path(c.api), `{"stream":true`+limit+`}`)
			call := w.books.wait(t, 1)
			if n := strings.Count(got.body, word); n < most/1000 || n > most*5/4/1000+2 {
				t.Errorf("%s%s: %d thousand tokens passed", c.api, limit, n)
			}
			if call.Usage.Cost != call.Worst || call.Worst != w.books.worst[0] || !call.Estimated || call.Err == nil {
				t.Errorf("%s%s: booked %+v", c.api, limit, call)
			}
		}
	}
}

// TestWildLimitIsNoBound: an agent cannot raise the bound beyond the longest reply of any model.
func TestWildLimitIsNoBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, model.OpenAI, nil, plain(`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":999999999}}`))
	w.ask(path(agent.APIChat), `{"max_tokens":1000000000000}`)
	if call := w.books.wait(t, 1); call.Usage.Cost > call.Worst || call.Usage.Cost > 100_000 || call.Worst > 130_000_000 || !call.Estimated {
		t.Errorf("%+v", call)
	}
}

// TestWholeAnswerThatIsTooLongIsNotPassedOn: an answer that is no stream is held to the same bound.
func TestWholeAnswerThatIsTooLongIsNotPassedOn(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 20_000)
	w := newWorld(t, model.OpenAI, nil, plain(`{"choices":[{"index":0,"message":{"content":"`+words+`"}}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`))
	got := w.ask(path(agent.APIChat), `{"max_tokens":1000}`)
	call := w.books.wait(t, 1)
	if strings.Contains(got.body, "word word") || call.Usage.Cost != call.Worst || !call.Estimated || call.Err == nil {
		t.Errorf("%d bytes passed, booked %+v", len(got.body), call)
	}
}
