package e2b

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/clock"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// buildTime is how long the build of a template may take.
const buildTime = time.Hour

// building is a build of a template at the service.
type building struct {
	Template string `json:"templateID"`
	Build    string `json:"buildID"`
}

// path is where a build is.
func (b building) path(version string) string {
	return version + cloud.Path("templates", b.Template, "builds", b.Build)
}

// progress is how a build stands.
type progress struct {
	Status string     `json:"status"` // waiting, building, ready, error
	Log    []logEntry `json:"logEntries"`
	Reason struct {
		Message string `json:"message"`
		Step    string `json:"step"`
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
	control, err := c.control(cloud.NewTransport(true))
	if err != nil {
		return err
	}
	b := builder{config: c, control: control, show: show, every: 2 * time.Second}
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	if err := b.build(ctx); err != nil {
		return fmt.Errorf("build template %s: %w", c.Template, b.explain(err))
	}
	return nil
}

// builder builds one template.
type builder struct {
	config  Config
	control *cloud.Client
	show    func(line string)
	every   time.Duration // between two looks
}

func (b *builder) build(ctx context.Context) error {
	recipe, archives, err := ourRecipe()
	if err != nil {
		return err
	}
	var at building
	body := map[string]any{"name": b.config.Template, "cpuCount": b.config.CPUs, "memoryMB": b.config.MemoryMiB}
	if err := b.post(ctx, "/v3/templates", body, &at); err != nil {
		return err
	}
	if at.Template == "" || at.Build == "" {
		return errors.New("create template: the answer names no build")
	}
	for hash, data := range archives {
		if err := b.upload(ctx, at, hash, data); err != nil {
			return err
		}
	}
	body = map[string]any{"fromImage": recipe.from, "steps": recipe.steps, "startCmd": startCommand, "readyCmd": readyCommand, "force": false}
	if err := b.post(ctx, at.path("/v2"), body, nil); err != nil {
		return err
	}
	return b.watch(ctx, at)
}

func (b *builder) post(ctx context.Context, path string, body, answer any) error {
	_, err := b.control.Do(ctx, cloud.Call{Method: http.MethodPost, Path: path, Body: body, Answer: answer, Makes: true, Slow: true})
	return err
}

// explain names the settings that a build depends on.
func (b *builder) explain(err error) error {
	switch cloud.StatusOf(err) {
	case http.StatusBadRequest:
		return fmt.Errorf("%w: the plan refuses it: change %stemplate, %[2]scpus or %[2]smemory_mib (%w)", sandbox.ErrSetting, section, err)
	case http.StatusForbidden:
		return fmt.Errorf("%w: the name %q may belong to another team: change %stemplate (%w)",
			sandbox.ErrSetting, b.config.Template, section, err)
	}
	return b.config.explain(err)
}

// target is where the files of a step are uploaded.
type target struct {
	Present bool              `json:"present"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// upload uploads the files of a step, unless the service has them.
func (b *builder) upload(ctx context.Context, at building, hash string, data []byte) error {
	var to target
	_, err := b.control.Do(ctx, cloud.Call{Method: http.MethodGet, Path: cloud.Path("templates", at.Template, "files", hash), Answer: &to})
	if err != nil || to.Present {
		return err
	}
	return cloud.Retry(ctx, func() error { return b.put(ctx, to, data) }, func(err error) *cloud.Backoff {
		if cloud.Transient(err) {
			return &b.control.Retry.Broken
		}
		return nil
	})
}

// put sends data with its exact length: the stores behind it refuse any other
// way. The address is a secret, and our key is none of the store's business.
func (b *builder) put(ctx context.Context, to target, data []byte) error {
	within, cancel := cloud.Within(ctx, b.control.Retry.Slow)
	defer cancel()
	req, err := http.NewRequestWithContext(within, http.MethodPut, to.URL, bytes.NewReader(data))
	if err != nil {
		return errors.New("upload a file: the service's address of it cannot be used")
	}
	for k, v := range to.Headers {
		req.Header.Set(k, v)
	}
	res, err := cloud.Send(b.control.HTTP, "store", to.URL, req)
	if err != nil {
		return fmt.Errorf("upload a file: %w", err)
	}
	return res.Body.Close()
}

// watch shows the build's log until it is over.
func (b *builder) watch(ctx context.Context, at building) error {
	seen := 0
	for {
		var p progress
		query := url.Values{"logsOffset": {strconv.Itoa(seen)}, "limit": {"100"}}
		if _, err := b.control.Do(ctx, cloud.Call{Method: http.MethodGet, Path: at.path("") + "/status", Query: query, Answer: &p}); err != nil {
			return err
		}
		seen += len(p.Log)
		for _, l := range p.Log {
			b.show(l.line())
		}
		over := p.Status == "ready" || p.Status == "error"
		if over && len(p.Log) == 0 {
			return p.outcome()
		}
		if over {
			continue
		}
		if err := clock.Sleep(ctx, b.every); err != nil {
			return fmt.Errorf("the build was not seen to its end: %w", err)
		}
	}
}

// outcome is nil for a template that is ready, and else the reason.
func (p progress) outcome() error {
	if p.Status == "ready" {
		return nil
	}
	text := cmp.Or(cloud.Plain(p.Reason.Message), "the service names no reason")
	if p.Reason.Step != "" {
		text = "step " + cloud.Plain(p.Reason.Step) + ": " + text
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
		text = "[" + cloud.Plain(l.Step) + "] " + text
	}
	if l.Level == "warn" || l.Level == "error" {
		text = l.Level + ": " + text
	}
	return text
}
