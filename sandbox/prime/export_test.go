package prime

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/prime/command"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// TestDriver is a driver whose inside tests see.
type TestDriver struct {
	*cloud.Driver
	p *provider
}

// NewTest is New for tests.
func NewTest(c Config, book *records.Book, log zerolog.Logger) (*TestDriver, error) {
	p, err := newProvider(c, book, log)
	if err != nil {
		return nil, err
	}
	return &TestDriver{p.driver(), p}, nil
}

// Hurry makes a driver as impatient as tests are.
func (d *TestDriver) Hurry() {
	const ms = time.Millisecond
	p := &d.p.timing
	p.poll, p.pollMost = 20*ms, 100*ms
	p.failed.First, p.failed.Most = 10*ms, 40*ms
	p.conflict.First, p.conflict.Most = 5*ms, 20*ms
	p.throttled.First, p.throttled.Most = 10*ms, 20*ms
	p.use = 300 * ms
	d.p.control.Retry.Broken = cloud.Backoff{First: 5 * ms, Most: 20 * ms, Tries: 3}
	d.p.control.Retry.Limited = cloud.Backoff{First: 5 * ms, Most: 20 * ms, Tries: 5}
}

// Silence is how long a stream or a transfer may be silent.
func (d *TestDriver) Silence(t time.Duration) { d.p.timing.silence, d.p.timing.transfer = t, t }

// EgressTime is how long network rules may take.
func (d *TestDriver) EgressTime(t time.Duration) { d.p.timing.egress = t }

// RequestTime bounds one request.
func (d *TestDriver) RequestTime(t time.Duration) { d.p.control.Retry.Request = t }

// Through sends everything through a transport.
func (d *TestDriver) Through(wrap func(http.RoundTripper) http.RoundTripper) {
	for _, c := range []*http.Client{d.p.control.HTTP, d.p.files, d.p.streams} {
		c.Transport = wrap(c.Transport)
	}
}

// Frame is what starting a program sends.
func Frame(cmd string, args []string, env map[string]string, dir string) []byte {
	spec := &command.CommandSpec{Cmd: cmd, Args: args, Envs: env}
	if dir != "" {
		spec.Cwd = proto.String(dir)
	}
	var sent []byte
	doer := cloud.Doer(func(r *http.Request) (*http.Response, error) {
		sent, _ = io.ReadAll(r.Body)
		return nil, io.ErrUnexpectedEOF
	})
	_ = events(context.Background(), time.Hour, doer, "http://g.invalid", &command.StartRequest{Command: spec, Stdin: proto.Bool(false)}, nil)
	return sent
}

// Event is what a frame of a stream says.
type Event struct {
	Stdout, Stderr string
	Ended          bool
	Code           int
}

// Events reads frames until their end.
func Events(r io.Reader) (all []Event, err error) {
	doer := cloud.Doer(func(req *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/connect+proto"}}, Body: io.NopCloser(r), Request: req,
		}, nil
	})
	err = events(context.Background(), time.Hour, doer, "http://g.invalid", &command.StartRequest{}, func(e *command.CommandSessionEvent) bool {
		one := Event{Stdout: string(e.GetData().GetStdout()), Stderr: string(e.GetData().GetStderr())}
		if end := e.GetEnd(); end != nil {
			one.Ended, one.Code = true, int(end.GetExitCode())
		}
		all = append(all, one)
		return true
	})
	return all, err
}

// Instant reads a time of the service.
func Instant(text string) (time.Time, error) {
	var i instant
	err := json.Unmarshal([]byte(text), &i)
	return i.Time, err
}

// Running waits until a sandbox of that id runs.
func (d *TestDriver) Running(ctx context.Context, name, id string) error {
	return d.p.awaitRunning(ctx, name, id)
}

// Access gives what asks for the way to a sandbox and returns its token.
func (d *TestDriver) Access(id string) func(context.Context) (string, error) {
	m := d.p.machine(noteOf(id))
	return func(ctx context.Context) (string, error) {
		a, err := m.access(ctx)
		return a.Token, err
	}
}

func noteOf(id string) cloud.Note { return cloud.Note{Record: records.Record{ID: id}} }

// Journal is where the driver's notes are.
func (d *TestDriver) Journal() *cloud.Journal { return d.p.journal }

// Restrict makes rules hold for a sandbox of that id.
func (d *TestDriver) Restrict(ctx context.Context, id string, allow []string) error {
	return d.p.Restrict(ctx, cloud.Note{Record: records.Record{ID: id}, Detail: cloud.Detail{Allow: allow}})
}

// Runner gives what runs a program in a sandbox of that id.
func (d *TestDriver) Runner(id string) func(ctx context.Context, argv ...string) (int, error) {
	m := cloud.Machine{Wire: d.p.machine(noteOf(id))}
	return func(ctx context.Context, argv ...string) (int, error) {
		return m.Run(ctx, guest.Process{Argv: argv}, func(bool, []byte) {})
	}
}
