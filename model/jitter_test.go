package model_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/solve"
)

// once is a provider that refuses the first request, and takes the next.
type once struct {
	header http.Header
	asked  int
}

func (o *once) RoundTrip(r *http.Request) (*http.Response, error) {
	o.asked++
	res := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader("{}"))}
	if o.asked == 1 {
		res.StatusCode, res.Header = 503, o.header
	}
	return res, nil
}

// Runs that failed together do not come back together: each wait is another one, whether
// the provider named a time or not, and never shorter than the time it named.
func TestWaitsDiffer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header      http.Header
		least, most time.Duration
	}{
		"own":   {http.Header{}, 5 * time.Second, 15 * time.Second},
		"named": {http.Header{"Retry-After": {"10"}}, 10 * time.Second, 12 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			waits := map[time.Duration]bool{}
			for range 20 {
				cfg := model.Config{Attempts: 3, RetryWait: 10 * time.Second, RetryMax: time.Minute, Models: []model.Entry{{Name: "m", Provider: model.OpenAI, BaseURL: "http://h/v1"}}}
				s, err := model.NewSet(cfg, env, model.WithTransport(&once{header: c.header}))
				if err != nil {
					t.Fatal(err)
				}
				up, err := s.Upstream("m", solve.Experiment{})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				res, err := up.Send(t.Context(), model.Request{API: agent.APIChat, Body: []byte("{}")})
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				took := time.Since(began)
				waits[took] = true
				if took < c.least || took > c.most {
					t.Errorf("%s: waited %s", name, took)
				}
			}
			if len(waits) < 15 {
				t.Errorf("%s: 20 waits took %d times", name, len(waits))
			}
		})
	}
}
