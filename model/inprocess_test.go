package model_test

import (
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

// An answer is read while it is written, and whoever leaves it ends it.
func TestInProcess(t *testing.T) {
	t.Parallel()
	more, ended := make(chan struct{}), make(chan struct{})
	res := sendTo(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		if r.URL.Path != "/v1/messages" || r.URL.RawQuery != "beta=true" {
			t.Errorf("asked %s", r.URL)
		}
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(body)
		<-more
		_, _ = w.Write([]byte(" more"))
		<-r.Context().Done()
	})
	got := make([]byte, len("first more"))
	if _, err := io.ReadFull(res.Body, got[:5]); err != nil {
		t.Fatal(err)
	}
	close(more)
	if _, err := io.ReadFull(res.Body, got[5:]); err != nil || string(got) != "first more" || res.StatusCode != http.StatusAccepted {
		t.Errorf("%q, %v, %d", got, err, res.StatusCode)
	}
	res.Body.Close()
	<-ended
}

// A handler that panics is like a provider that breaks off.
func TestInProcessPanic(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"", "some"} {
		res := sendTo(t, func(w http.ResponseWriter, _ *http.Request) {
			if said != "" {
				_, _ = io.WriteString(w, said)
			}
			panic("oops")
		})
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		if string(got) != said || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q, %v", got, err)
		}
	}
}
