package model_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/model"
)

// sendTo makes a request of a handler in this process.
func sendTo(t *testing.T, h http.HandlerFunc) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://scripted/v1/messages?beta=true", strings.NewReader("first"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := model.InProcess(h).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestInProcess: a handler sees the request, and its answer is the response.
func TestInProcess(t *testing.T) {
	t.Parallel()
	res := sendTo(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/messages" || r.RequestURI != "/v1/messages?beta=true" {
			t.Errorf("asked %s, %s", r.URL, r.RequestURI)
		}
		w.Header().Set("X-Said", "yes")
		w.WriteHeader(http.StatusAccepted)
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(append(body, " more"...))
	})
	got, err := io.ReadAll(res.Body)
	if err != nil || string(got) != "first more" || res.StatusCode != http.StatusAccepted || res.Header.Get("X-Said") != "yes" {
		t.Errorf("%q, %v, %d", got, err, res.StatusCode)
	}
}

// TestInProcessGivenUp: whoever gives the call up gets no answer.
func TestInProcessGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://scripted/", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	wait := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	if _, err := model.InProcess(wait).RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
