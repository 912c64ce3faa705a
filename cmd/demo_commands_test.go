package cmd_test

import (
	"bytes"
	"context"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/cmd"
	"github.com/yudai-dev/yudai/test/require"
)

// demoBot is a demo that was left running, and a person at its pages.
type demoBot struct {
	*testing.T
	out output
	url string // of the emulated repository
}

// output is what a command prints, while it prints it.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// startDemo runs "yudai demo --keep" until the test ends.
func startDemo(t *testing.T) *demoBot {
	t.Helper()
	d := &demoBot{T: t}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() { done <- cmd.Execute(ctx, []string{"demo", "--keep"}, strings.NewReader(""), &d.out, &d.out) }()
	t.Cleanup(func() {
		stop()
		<-done
		if t.Failed() {
			t.Log(d.out.String())
		}
	})
	at := regexp.MustCompile(`Still running: GitHub at (http\S+),`)
	d.until("the demo's champion", 15*time.Minute, func() bool { return at.MatchString(d.out.String()) })
	d.url = at.FindStringSubmatch(d.out.String())[1] + "/you/semver"
	return d
}

func (d *demoBot) until(what string, limit time.Duration, ok func() bool) {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			d.Fatalf("waited in vain for %s\n%s", what, d.out.String())
		case <-tick.C:
		}
	}
}

// comment sends the form of an issue's or a pull request's page.
func (d *demoBot) comment(number int, body string) {
	d.Helper()
	d.form("/issues/"+strconv.Itoa(number), url.Values{"do": {"comment"}, "as": {"you"}, "body": {body}})
}

func (d *demoBot) form(path string, values url.Values) {
	d.Helper()
	resp, err := http.PostForm(d.url+path, values)
	if err != nil {
		d.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		d.Fatalf("POST %s %v: %s", path, values, resp.Status)
	}
}

// page is the text of a page as a person reads it.
func (d *demoBot) page(path string) string {
	d.Helper()
	resp, err := http.Get(d.url + path)
	if err != nil {
		d.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		d.Fatal(err)
	}
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(data), "")
	return html.UnescapeString(text)
}

// shows waits until a page shows a text once more often than before.
func (d *demoBot) shows(path, text string, before int) {
	d.Helper()
	d.until(strconv.Quote(text)+" on "+path, 15*time.Minute, func() bool { return strings.Count(d.page(path), text) > before })
}

// TestDemoAnswersEveryCommand types every command into the pages of the demo's GitHub.
func TestDemoAnswersEveryCommand(t *testing.T) {
	t.Parallel()
	require.Long(t)
	require.Programs(t, "bubblewrap", "bwrap")
	d := startDemo(t)
	const issue, pull = "/issues/1", "/pull/2"
	for _, c := range []struct {
		number     int
		say        string
		page, want string
	}{
		{1, "/yudai help", issue, "shows this table"},
		{1, "/yudai", issue, "shows this table"},
		{1, "/yudai status", issue, "Solved, proven: the champion's pull request is open."},
		{1, "/yudai why", issue, "Against run 3, the runner-up"},
		{1, "/yudai statsu", issue, "I do not know the command"},
		{1, "/yudai cancel", issue, "The last solve of this issue has already ended: solved."},
		{2, "/yudai status", pull, "Solved, proven: the champion's pull request is open."},
		{2, "/yudai solve", pull, "please ask in the issue"},
		{1, "/yudai pick 4", issue, "Run 4 cannot be picked: no change"},
		{1, "/yudai pick 3", pull, "you picked it"},
		{1, "/yudai retry", issue, "passed, carried over"},
		{2, "/yudai revise Say in the README how numbers are ordered.", pull, "It revises #2"},
	} {
		began, before := time.Now(), strings.Count(d.page(c.page), c.want)
		d.comment(c.number, c.say)
		d.shows(c.page, c.want, before)
		d.until("the end of what it started", 15*time.Minute, d.still())
		t.Logf("%s: answered after %s", c.say, time.Since(began).Round(100*time.Millisecond))
	}
	if text := d.page(pull); !strings.Contains(text, "comes before `1.10.0`") {
		t.Errorf("the revision is not on the pull request:\n%s", text)
	}
	d.comment(1, "/yudai solve models=wanderer,careful temps=0.2")
	d.shows(issue, "Stop it with the comment", 0)
	d.comment(1, "/yudai solve")
	d.shows(issue, "is being solved already", 0)
	d.comment(1, "/yudai cancel")
	d.shows(issue, "Stopped by you", 0)
}

// still says, asked again and again, whether the pages do not change any more, and no
// progress comment is about a solve that still goes on.
func (d *demoBot) still() func() bool {
	const quiet = 2 * time.Second
	last, since := "", time.Now()
	return func() bool {
		text := d.page("/issues/1") + d.page("/pull/2")
		if text != last {
			last, since = text, time.Now()
		}
		return time.Since(since) > quiet && !strings.Contains(text, "Stop it with the comment")
	}
}
