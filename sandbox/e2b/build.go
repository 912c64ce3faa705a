package e2b

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// buildTime is how long the build of a template may take.
const buildTime = time.Hour

// building is a build of a template at the service.
type building struct {
	Template string `json:"templateID"`
	Build    string `json:"buildID"`
}

// progress is how a build stands.
type progress struct {
	Status string     `json:"status"` // waiting, building, ready, error
	Log    []logEntry `json:"logEntries"`
	Reason *struct {
		Message string     `json:"message"`
		Step    string     `json:"step"`
		Log     []logEntry `json:"logEntries"`
	} `json:"reason"`
}

type logEntry struct {
	Level   string `json:"level"`
	Message string `json:"message"`
	Step    string `json:"step"`
}

// Build makes the template of this version at the service, under the name and of
// the size that the configuration has, and shows what happens, line by line.
func Build(ctx context.Context, c Config, show func(line string)) error {
	var problems []error
	c.Validate(func(key, problem string) { problems = append(problems, fmt.Errorf("sandbox.e2b.%s %s", key, problem)) })
	if err := errors.Join(problems...); err != nil {
		return err
	}
	key, err := c.readKey(os.Getenv)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: newTransport(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	b := builder{
		config: c, control: &control{base: c.apiBase(), key: key, http: client, pace: defaultPace()}, show: show, every: 2 * time.Second,
	}
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	if err := b.build(ctx); err != nil {
		return fmt.Errorf("build template %s: %w", c.Template, err)
	}
	return nil
}

// builder builds one template.
type builder struct {
	config  Config
	control *control
	show    func(line string)
	every   time.Duration // between two looks
}

func (b *builder) build(ctx context.Context) error {
	recipe, archives, err := ourRecipe()
	if err != nil {
		return err
	}
	at, err := b.begin(ctx)
	if err != nil {
		return b.explain(err)
	}
	for hash, data := range archives {
		if err := b.send(ctx, at, hash, data); err != nil {
			return b.explain(err)
		}
	}
	body := map[string]any{"fromImage": recipe.from, "steps": recipe.steps, "startCmd": startCommand, "readyCmd": readyCommand, "force": false}
	_, err = b.control.call(ctx, request{
		what: "start the build", method: http.MethodPost, path: b.path("/v2", at), body: body, makes: true, slow: true,
	}, nil)
	if err != nil {
		return b.explain(err)
	}
	return b.follow(ctx, at)
}

// path is where a build is.
func (b *builder) path(version string, at building) string {
	return version + "/templates/" + segment(at.Template) + "/builds/" + segment(at.Build)
}

func (b *builder) begin(ctx context.Context) (building, error) {
	var at building
	body := map[string]any{"name": b.config.Template, "cpuCount": b.config.CPUs, "memoryMB": b.config.MemoryMiB}
	_, err := b.control.call(ctx, request{what: "create template", method: http.MethodPost, path: "/v3/templates", body: body, makes: true, slow: true}, &at)
	if err == nil && (at.Template == "" || at.Build == "") {
		err = errors.New("create template: the answer names no build")
	}
	return at, err
}

// explain names the settings that a build depends on.
func (b *builder) explain(err error) error {
	if status(err) == http.StatusBadRequest {
		return fmt.Errorf("%w: the plan refuses it: change sandbox.e2b.template, sandbox.e2b.cpus or sandbox.e2b.memory_mib (%w)", sandbox.ErrSetting, err)
	}
	if status(err) == http.StatusForbidden {
		return fmt.Errorf("%w: the name %q may belong to another team: change sandbox.e2b.template (%w)", sandbox.ErrSetting, b.config.Template, err)
	}
	return b.config.explain(err)
}

// place is where the files of a step are uploaded.
type place struct {
	Present bool              `json:"present"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// send uploads the files of a step, unless the service has them.
func (b *builder) send(ctx context.Context, at building, hash string, data []byte) error {
	var to place
	_, err := b.control.call(ctx, request{
		what: "ask for the place of a file", method: http.MethodGet, path: "/templates/" + segment(at.Template) + "/files/" + hash,
	}, &to)
	if err != nil || to.Present {
		return err
	}
	waits := newWaits(b.control.pace)
	for {
		err := b.put(ctx, to, data)
		if err == nil {
			return nil
		}
		d, again := waits.after(ctx, err, false)
		if !again || !wait(ctx, d) {
			return err
		}
	}
}

// put sends data with its exact length: the stores behind it refuse any other
// way. The address is a secret, and our key is none of the store's business.
func (b *builder) put(ctx context.Context, to place, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, b.control.pace.slow)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, to.URL, bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("upload a file: %w", bare(err))
	}
	for k, v := range to.Headers {
		req.Header.Set(k, v)
	}
	req.Header.Set("User-Agent", agentName)
	resp, err := b.control.http.Do(req)
	if err != nil {
		return fmt.Errorf("upload a file: %w", bare(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return readProblem("upload a file", resp, to.URL)
	}
	return nil
}

// follow shows the build's log until it is over.
func (b *builder) follow(ctx context.Context, at building) error {
	seen := 0
	for {
		var p progress
		_, err := b.control.call(ctx, request{
			what: "look at the build", method: http.MethodGet, path: b.path("", at) + "/status",
			query: url.Values{"logsOffset": {strconv.Itoa(seen)}, "limit": {"100"}},
		}, &p)
		if err != nil {
			return b.config.explain(err)
		}
		seen += len(p.Log)
		for _, l := range p.Log {
			b.show(l.line())
		}
		over := p.Status == "ready" || p.Status == "error"
		if over && len(p.Log) == 0 {
			return p.outcome()
		}
		if !over && !wait(ctx, b.every) {
			return fmt.Errorf("the build was not seen to its end: %w", ctx.Err())
		}
	}
}

// outcome is nil for a template that is ready, and else the reason.
func (p progress) outcome() error {
	if p.Status == "ready" {
		return nil
	}
	text := "the service names no reason"
	if p.Reason != nil {
		text = oneLine(p.Reason.Message)
		if p.Reason.Step != "" {
			text = "step " + oneLine(p.Reason.Step) + ": " + text
		}
	}
	return fmt.Errorf("the build failed: %s", text)
}

// line is one line of a log, without what could move a terminal's cursor.
func (l logEntry) line() string {
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.TrimRight(strings.ReplaceAll(l.Message, "\t", "  "), "\r\n"))
	if l.Step != "" {
		text = "[" + oneLine(l.Step) + "] " + text
	}
	if l.Level == "warn" || l.Level == "error" {
		text = l.Level + ": " + text
	}
	return text
}
