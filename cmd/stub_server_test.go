package cmd_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yudai-dev/yudai/cmd"
)

// TestWatchBearsACutAnswer: it asks again, also where the connection is reset. What strangers wrote into the reason of the end moves no cursor.
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
			reset(t, w)
			return
		case 4:
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

// reset begins an answer and resets the connection.
func reset(t *testing.T, w http.ResponseWriter) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_, err = rw.WriteString("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	}
	if err == nil {
		err = errors.Join(rw.Flush(), conn.(*net.TCPConn).SetLinger(0), conn.Close())
	}
	if err != nil {
		t.Error(err)
	}
}

// TestWatchAtTheVeryEnd: a server that is away before the scorecard is asked again, and who stops there learns how the solve ended.
func TestWatchAtTheVeryEnd(t *testing.T) {
	t.Parallel()
	for _, stopped := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		asked, records := atomic.Int64{}, atomic.Int64{}
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(r.URL.Path, "/status"):
				state := "solved"
				if asked.Add(1) == 1 {
					state = "running"
				}
				_, _ = w.Write([]byte(`{"solve_id":"cnv8q5k6n88s73a1e0h0","state":"` + state + `"}`))
			case stopped:
				stop()
				<-r.Context().Done()
			case records.Add(1) == 1:
				reset(t, w)
			default:
				_, _ = w.Write([]byte(`{"v":1,"solve":{"state":"solved"}}`))
			}
		}))
		var out, errs bytes.Buffer
		code := cmd.Execute(ctx, []string{"watch", "cnv8q5k6n88s73a1e0h0", "--url", srv.URL}, strings.NewReader(""), &out, &errs)
		if carded := strings.Contains(out.String(), "pull request is open"); code != 0 || carded == stopped || errs.Len() > 0 {
			t.Errorf("stopped %v: exit %d, %q, %q", stopped, code, out.String(), errs.String())
		}
		srv.Close()
		stop()
	}
}
