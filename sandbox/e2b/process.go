package e2b

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// start is the message that starts a process. Stdin is always sent: without it
// the process has a pipe that nobody closes.
type start struct {
	Process command `json:"process"`
	Stdin   bool    `json:"stdin"`
}

type command struct {
	Cmd  string            `json:"cmd"`
	Args []string          `json:"args,omitempty"`
	Envs map[string]string `json:"envs,omitempty"`
	Cwd  string            `json:"cwd,omitempty"`
}

// event is one message of a process's stream. What is zero is not sent.
type event struct {
	Event struct {
		Start *struct {
			Pid int `json:"pid"`
		} `json:"start"`
		Data *struct {
			Stdout []byte `json:"stdout"`
			Stderr []byte `json:"stderr"`
			Pty    []byte `json:"pty"`
		} `json:"data"`
		End *ending `json:"end"`
	} `json:"event"`
}

// ending is how a process ended.
type ending struct {
	ExitCode int    `json:"exitCode"`
	Exited   bool   `json:"exited"`
	Status   string `json:"status"`
	Error    string `json:"error"`
}

// code is the exit code as a shell reports it.
func (e ending) code() int {
	if e.Exited {
		return e.ExitCode
	}
	name, killed := strings.CutPrefix(e.Status, "signal: ")
	if !killed {
		return max(e.ExitCode, 1)
	}
	name, _, _ = strings.Cut(name, " (core dumped)")
	for n, s := range map[int]string{
		1: "hangup", 2: "interrupt", 3: "quit", 4: "illegal instruction", 5: "trace/breakpoint trap", 6: "aborted", 7: "bus error",
		8: "floating point exception", 9: "killed", 10: "user defined signal 1", 11: "segmentation fault", 12: "user defined signal 2",
		13: "broken pipe", 14: "alarm clock", 15: "terminated",
	} {
		if name == s {
			return 128 + n
		}
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "signal ")); err == nil {
		return 128 + n
	}
	return 128
}

// run starts a process and follows its stream to the end. No deadline travels
// with it: the daemon would kill the process by it. When the context ends, the
// stream does, and the process goes on.
func (d *daemon) run(ctx context.Context, s start, user string, out func(stderr bool, data []byte)) (ending, error) {
	body, err := envelope(s)
	if err != nil {
		return ending{}, fmt.Errorf("start process: %w", err)
	}
	ctx, dog, stop := watch(ctx, d.rhythm.silence)
	defer stop()
	req, err := d.streamRequest(ctx, "/process.Process/Start", user, body)
	if err != nil {
		return ending{}, fmt.Errorf("start process: %w", err)
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return ending{}, fmt.Errorf("start process: %w", cutBy(ctx, bare(err)))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return ending{}, readProblem("start process", resp, d.secret())
	}
	end, err := d.follow(&opened{from: resp.Body}, dog, out)
	if err != nil {
		return ending{}, fmt.Errorf("follow process: %w", cutBy(ctx, err))
	}
	return end, nil
}

// streamRequest is the request of a stream with one message. The keepalive is
// never below a second: a zero ends the whole daemon.
func (d *daemon) streamRequest(ctx context.Context, path, user string, body []byte) (*http.Request, error) {
	req, err := d.request(ctx, http.MethodPost, path, user, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/connect+json")
	req.Header.Set("Connect-Protocol-Version", "1")
	req.Header.Set("Keepalive-Ping-Interval", strconv.Itoa(max(1, int(d.rhythm.keepalive/time.Second))))
	return req, nil
}

// cutBy names what ended the context where that was what cut a stream: the
// watchdog, or what the caller's context ended for.
func cutBy(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// follow reads a process's stream to its end.
func (d *daemon) follow(in *opened, dog *watchdog, out func(stderr bool, data []byte)) (ending, error) {
	var end *ending
	var plain plainOutput
	pid := 0
	for {
		dog.stroke()
		data, err := in.next()
		dog.timer.Stop() // whoever takes the output may take its time
		if errors.Is(err, io.EOF) && !errors.Is(err, errNoEnd) {
			if end == nil {
				return ending{}, fmt.Errorf("%w: without the process's end", errNoEnd)
			}
			return *end, nil
		}
		if err != nil {
			return ending{}, err
		}
		if piece, stderr, ok := plain.read(data); ok {
			pass(out, stderr, piece)
			continue
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return ending{}, fmt.Errorf("%w: an event: %w", errNoEnd, err)
		}
		if e.Event.Start != nil {
			pid = e.Event.Start.Pid
			d.unseen.Store(pid, true)
		}
		if e.Event.Data != nil {
			pass(out, false, e.Event.Data.Stdout)
			pass(out, false, e.Event.Data.Pty)
			pass(out, true, e.Event.Data.Stderr)
		}
		if e.Event.End != nil {
			end = e.Event.End
			d.unseen.Delete(pid)
		}
	}
}

// plainOutput reads output as the daemon writes it, ten times as fast as any JSON.
type plainOutput struct{ buf []byte }

// read returns a piece of output, valid until the next one. What it does not know
// to the letter is not plain: JSON has many ways to write the same.
func (p *plainOutput) read(data []byte) (piece []byte, stderr, ok bool) {
	text, ok := bytes.CutPrefix(data, []byte(`{"event":{"data":{"std`))
	if !ok {
		return nil, false, false
	}
	inner, ok := bytes.CutPrefix(text, []byte(`out":"`))
	if !ok {
		if inner, stderr = bytes.CutPrefix(text, []byte(`err":"`)); !stderr {
			return nil, false, false
		}
	}
	inner, ok = bytes.CutSuffix(inner, []byte(`"}}}`))
	if n := base64.StdEncoding.DecodedLen(len(inner)); n > len(p.buf) {
		p.buf = make([]byte, n)
	}
	n, err := base64.StdEncoding.Decode(p.buf, inner)
	return p.buf[:n], stderr, ok && err == nil
}

func pass(out func(bool, []byte), stderr bool, data []byte) {
	if len(data) > 0 {
		out(stderr, data)
	}
}
