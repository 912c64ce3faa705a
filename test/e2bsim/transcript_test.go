package e2bsim_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/test/e2bsim"
	"github.com/yudai-dev/yudai/test/machine"
	"github.com/yudai-dev/yudai/test/require"
)

// exchange is one recorded request and what the real daemon answered.
type exchange struct {
	Name    string `json:"name"`
	Request struct {
		Method  string            `json:"method"`
		Path    string            `json:"path"`
		Headers map[string]string `json:"headers"`
		Body    []byte            `json:"body_b64"`
	} `json:"request"`
	Response reply `json:"response"`
}

type reply struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"body_b64"`
	Frames  []frame           `json:"frames"`
}

type frame struct {
	AtMS    int    `json:"at_ms"`
	Flags   byte   `json:"flags"`
	Payload string `json:"payload"`
}

// stream reports whether the answer is a sequence of frames.
func (e exchange) stream() bool { return e.Response.Frames != nil }

// TestTranscripts replays what was recorded from a real daemon, request by
// request, and compares status, headers, bodies and frames. No exchange is left out.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	require.Machines(t, machine.Supported())
	data, err := os.ReadFile("testdata/envd-0.6.13-transcripts.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Recorded []exchange `json:"recorded"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	m, err := machine.Start(machine.Options{Dir: filepath.Join(t.TempDir(), "m"), Hostname: "vm"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	server := httptest.NewServer(e2bsim.BareDaemon(m))
	defer server.Close()
	r := &replay{url: server.URL, pids: map[int]int{}, open: map[int]*running{}, recorded: all.Recorded}
	for _, e := range all.Recorded {
		t.Run(e.Name, func(t *testing.T) { r.play(t, e) })
	}
	if len(all.Recorded) < 51 {
		t.Errorf("only %d exchanges", len(all.Recorded))
	}
}

// replay sends the recorded requests in their order. A request that names a
// process which was started by a stream that ended later starts that stream first.
type replay struct {
	url      string
	recorded []exchange
	pids     map[int]int // recorded pid to ours
	open     map[int]*running
}

// running is a stream that was started before its turn.
type running struct {
	mu    sync.Mutex
	got   reply
	begun chan struct{} // closed at the first frames
	done  chan struct{}
	err   error
}

func (r *replay) play(t *testing.T, e exchange) {
	if pid := e.pid(); pid != 0 && e.stream() && r.open[pid] != nil {
		run := r.open[pid]
		<-run.done
		r.compare(t, e, run.got, run.err, false)
		return
	}
	body := e.Request.Body
	if at := e.names(); at != 0 && at < 900000 {
		if r.pids[at] == 0 {
			r.begin(t, at)
		}
		body = bytes.Replace(body, []byte(strconv.Itoa(at)), []byte(strconv.Itoa(r.pids[at])), 1)
		if e.stream() { // the length of the envelope
			binary.BigEndian.PutUint32(body[1:], uint32(len(body)-5))
		}
	}
	got, err := send(r.url, e, body, nil)
	if pid := e.pid(); pid != 0 && err == nil {
		r.pids[pid] = pidOf(got.Frames)
	}
	r.compare(t, e, got, err, true)
}

// begin starts the stream of a recorded process and waits for what it says at once.
func (r *replay) begin(t *testing.T, pid int) {
	t.Helper()
	for _, e := range r.recorded {
		if e.pid() != pid || !strings.HasSuffix(e.Request.Path, "/Start") {
			continue
		}
		run := &running{begun: make(chan struct{}), done: make(chan struct{})}
		r.open[pid] = run
		early := 0
		for _, f := range e.Response.Frames {
			if f.AtMS < 100 {
				early++
			}
		}
		go func() {
			defer close(run.done)
			run.got, run.err = send(r.url, e, e.Request.Body, func(frames []frame) {
				if len(frames) == early {
					run.mu.Lock()
					r.pids[pid] = pidOf(frames)
					run.mu.Unlock()
					close(run.begun)
				}
			})
		}()
		select {
		case <-run.begun:
		case <-run.done:
			t.Fatalf("%s ended at once: %+v, %v", e.Name, run.got, run.err)
		}
		run.mu.Lock()
		defer run.mu.Unlock()
		return
	}
	t.Fatalf("no stream has the pid %d", pid)
}

// pid is the recorded pid of the process that the exchange is the stream of.
func (e exchange) pid() int {
	if !strings.HasSuffix(e.Request.Path, "/Start") {
		return 0
	}
	return pidOf(e.Response.Frames)
}

// names is the recorded pid that the request asks for.
func (e exchange) names() int {
	var body struct {
		Process struct {
			PID int `json:"pid"`
		} `json:"process"`
	}
	data := e.Request.Body
	if e.stream() && len(data) > 5 {
		data = data[5:]
	}
	_ = json.Unmarshal(data, &body)
	return body.Process.PID
}

func pidOf(frames []frame) int {
	for _, f := range frames {
		var p struct {
			Event struct {
				Start struct {
					PID int `json:"pid"`
				} `json:"start"`
			} `json:"event"`
		}
		if err := json.Unmarshal([]byte(f.Payload), &p); err == nil && p.Event.Start.PID != 0 {
			return p.Event.Start.PID
		}
	}
	return 0
}

// send makes the request and reads the whole answer; saw is called at each frame.
func send(url string, e exchange, body []byte, saw func([]frame)) (reply, error) {
	req, err := http.NewRequest(e.Request.Method, url+e.Request.Path, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for k, v := range e.Request.Headers {
		req.Header.Set(k, v)
	}
	began := time.Now()
	resp, err := (&http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	got := reply{Status: resp.StatusCode, Headers: map[string]string{}}
	for k, v := range resp.Header {
		got.Headers[k] = strings.Join(v, ", ")
	}
	if len(resp.TransferEncoding) > 0 {
		got.Headers["Transfer-Encoding"] = resp.TransferEncoding[0]
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/connect+") {
		got.Body, err = io.ReadAll(resp.Body)
		return got, err
	}
	for {
		var head [5]byte
		if _, err := io.ReadFull(resp.Body, head[:]); errors.Is(err, io.EOF) {
			return got, nil
		} else if err != nil {
			return got, err
		}
		payload := make([]byte, binary.BigEndian.Uint32(head[1:]))
		if _, err := io.ReadFull(resp.Body, payload); err != nil {
			return got, err
		}
		got.Frames = append(got.Frames, frame{int(time.Since(began).Milliseconds()), head[0], string(payload)})
		if saw != nil {
			saw(got.Frames)
		}
	}
}

// compare compares an answer with the recorded one; own tells that its times are its own.
func (r *replay) compare(t *testing.T, e exchange, got reply, err error, own bool) {
	t.Helper()
	if err != nil || got.Status != e.Response.Status {
		t.Fatalf("status %d, %v; recorded %d\n%s", got.Status, err, e.Response.Status, got.Body)
	}
	for name, want := range e.Response.Headers {
		have, present := got.Headers[name]
		switch name {
		case "Content-Length": // JSON is spaced at random
			if have != strconv.Itoa(len(got.Body)) && !e.stream() || !present {
				t.Errorf("Content-Length %q of %d bytes", have, len(got.Body))
			}
		case "Last-Modified":
			if _, err := http.ParseTime(have); err != nil {
				t.Errorf("Last-Modified %q", have)
			}
		case "Vary":
			if !strings.Contains(have, want) {
				t.Errorf("Vary %q, recorded %q", have, want)
			}
		default:
			if have != want {
				t.Errorf("%s %q, recorded %q", name, have, want)
			}
		}
	}
	if diff := cmp.Diff(r.plain(t, e.Response.Body, true), r.plain(t, got.Body, false)); diff != "" {
		t.Errorf("body (-recorded +ours):\n%s", diff)
	}
	exact := e.Name == "utf8-split"
	if diff := cmp.Diff(r.frames(t, e.Response.Frames, exact, true), r.frames(t, got.Frames, exact, false)); diff != "" {
		t.Errorf("frames (-recorded +ours):\n%s", diff)
	}
	if n := len(e.Response.Frames); own && n > 0 {
		was, is := e.Response.Frames[n-1].AtMS, got.Frames[len(got.Frames)-1].AtMS
		if was > 100 && is < was-50 {
			t.Errorf("ended after %d ms, recorded %d", is, was)
		}
	}
}

// plain makes a body comparable: JSON is decoded, without what the machine determines.
func (r *replay) plain(t *testing.T, body []byte, recorded bool) any {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return string(body)
	}
	return r.normal(value, recorded)
}

// normal replaces what differs from machine to machine: pids, times, sizes of
// directories, and measurements.
func (r *replay) normal(v any, recorded bool) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = r.normal(v[i], recorded)
		}
	case map[string]any:
		if _, measured := v["cpu_used_pct"]; measured {
			for k := range v {
				if _, number := v[k].(float64); number {
					v[k] = "a number"
				}
			}
		}
		if v["type"] == "FILE_TYPE_DIRECTORY" {
			v["size"] = "of a directory"
		}
		for k := range v {
			switch k {
			case "modifiedTime":
				if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(v[k])); err == nil {
					v[k] = "a time"
				}
			case "pid":
				if pid, ok := v[k].(float64); ok && recorded && r.pids[int(pid)] != 0 {
					v[k] = float64(r.pids[int(pid)])
				}
			default:
				v[k] = r.normal(v[k], recorded)
			}
		}
	}
	return v
}

// frames makes frames comparable. Where one chunk ends and the next begins, and how
// the two streams interleave, is the machine's matter, but no chunk is larger than 32 KiB.
func (r *replay) frames(t *testing.T, all []frame, exact, recorded bool) []any {
	t.Helper()
	out := []any{}
	said := map[string]string{}
	for _, f := range all {
		var payload map[string]any
		if err := json.Unmarshal([]byte(f.Payload), &payload); err != nil {
			t.Fatal(err)
		}
		kind, data := chunkOf(payload)
		if len(data) > 32<<10 {
			t.Errorf("a chunk of %d bytes", len(data))
		}
		said[kind] += data
		if kind == "" || exact {
			out = append(out, said, map[string]any{"flags": int(f.Flags), "payload": r.normal(payload, recorded)})
			said = map[string]string{}
		}
	}
	return out
}

// chunkOf returns the stream and the bytes of a data event.
func chunkOf(payload map[string]any) (kind, data string) {
	event, _ := payload["event"].(map[string]any)
	chunk, _ := event["data"].(map[string]any)
	for k := range maps.Keys(chunk) {
		raw, _ := base64.StdEncoding.DecodeString(fmt.Sprint(chunk[k]))
		return k, string(raw)
	}
	return "", ""
}
