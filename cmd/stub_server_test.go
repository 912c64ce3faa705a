package cmd_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yudai-dev/yudai/cmd"
)

// TestWatchBearsACutAnswer: it asks again. What strangers wrote into the reason of the end moves no cursor.
func TestWatchBearsACutAnswer(t *testing.T) {
	t.Parallel()
	asked := atomic.Int64{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		text := `{"solve_id":"cnv8q5k6n88s73a1e0h0","state":"running"}`
		switch asked.Add(1) {
		case 2:
			w.Header().Set("Content-Length", "1000")
		case 3:
			text = `{"solve_id":"cnv8q5k6n88s73a1e0h0","state":"unsolved","reason":"red\u001b[2J."}`
		}
		_, _ = w.Write([]byte(text))
	}))
	defer srv.Close()
	var out, errs bytes.Buffer
	code := cmd.Execute(t.Context(), []string{"watch", "cnv8q5k6n88s73a1e0h0", "--json", "--url", srv.URL}, strings.NewReader(""), &out, &errs)
	if lines := strings.Count(out.String(), "\n"); code != 1 || lines != 2 || errs.String() != "yudai: the solve ended unsolved: red.\n" {
		t.Errorf("exit %d, %d lines, %q", code, lines, errs.String())
	}
}
