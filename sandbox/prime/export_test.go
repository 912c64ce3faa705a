package prime

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/sandbox/inside"
	"github.com/yudai-dev/yudai/sandbox/records"
)

// Hurry makes a driver as impatient as tests are.
func (d *Driver) Hurry() {
	const ms = time.Millisecond
	p := d.control.pace
	p.retry, p.poll, p.pollMost = 20*ms, 20*ms, 100*ms
	p.throttled = []time.Duration{5 * ms, 10 * ms, 20 * ms, 20 * ms}
	p.gateway = []time.Duration{10 * ms, 20 * ms, 40 * ms}
	p.conflict = []time.Duration{5 * ms, 10 * ms, 20 * ms}
	p.use = 300 * ms
	d.control.pace = p
}

// Silence is how long a stream or a transfer may be silent.
func (d *Driver) Silence(t time.Duration) { d.control.pace.silence, d.control.pace.transfer = t, t }

// EgressTime is how long network rules may take.
func (d *Driver) EgressTime(t time.Duration) { d.control.pace.egress = t }

// RequestTime bounds one request.
func (d *Driver) RequestTime(t time.Duration) { d.control.pace.request = t }

// Through sends everything through a transport.
func (d *Driver) Through(wrap func(http.RoundTripper) http.RoundTripper) {
	d.control.client.Transport = wrap(d.control.client.Transport)
	d.gateway.client.Transport = wrap(d.gateway.client.Transport)
	d.gateway.streams.Transport = wrap(d.gateway.streams.Transport)
}

// Frame makes the frame of a request to start a program.
func Frame(cmd string, args []string, env map[string]string, dir string) []byte {
	return frame(0, spec{cmd: cmd, args: args, envs: env, cwd: dir}.encode())
}

// Event is what a frame of a stream says.
type Event struct {
	Stdout, Stderr string
	Ended          bool
	Code           int
}

// Events reads frames until their end.
func Events(r io.Reader) (all []Event, err error) {
	f := &frames{r: r}
	for {
		flags, message, err := f.next()
		if err != nil || flags&frameEnd != 0 {
			return all, err
		}
		e, err := decodeEvent(message)
		if err != nil {
			return all, err
		}
		all = append(all, Event{string(e.stdout), string(e.stderr), e.ended, e.code})
	}
}

// Instant reads a time of the service.
func Instant(text string) (time.Time, error) {
	var i instant
	err := json.Unmarshal([]byte(text), &i)
	return i.Time, err
}

// Running waits until a sandbox of that id runs.
func (d *Driver) Running(ctx context.Context, name, id string) error {
	return d.awaitRunning(ctx, name, id)
}

// Access asks for the way to a sandbox and returns its token.
func (d *Driver) Access(ctx context.Context, id string) (string, error) {
	a, err := d.gateway.access(ctx, id)
	return a.Token, err
}

// Book is where the driver's notes are.
func (d *Driver) Book() *records.Book { return d.book }

// Restrict makes rules hold for a sandbox of that id.
func (d *Driver) Restrict(ctx context.Context, id string, allow []string) error {
	return d.restrict(ctx, id, allow)
}

// Run runs a program in a sandbox of that id.
func (d *Driver) Run(ctx context.Context, id string, argv ...string) (int, error) {
	m := d.machine(note{Record: records.Record{ID: id}})
	return m.Run(ctx, inside.Process{Argv: argv}, func(bool, []byte) {})
}
