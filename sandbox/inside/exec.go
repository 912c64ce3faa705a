package inside

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/output"
)

const (
	// longText is where a command's text goes through a file instead of an argument.
	longText = 48 << 10
	// grace is how much later than inside a command's timeout is enforced from here.
	grace = 15 * time.Second
	// killTime bounds the end of a command that is cancelled.
	killTime = 30 * time.Second
	// lostTime is how long a view that breaks again and again is tried for without any progress.
	lostTime = 2 * time.Minute
)

// command is one Exec on its way.
type command struct {
	box    *Box
	id     string
	kept   string // which streams are kept, as launch.sh has it
	max    int64
	limit  time.Duration
	text   string
	old    []string
	seen   [2]int64 // bytes of stdout and stderr
	feeds  [2]*output.Feed
	budget *output.Budget
}

// Exec runs one command under the launcher.
func (b *Box) Exec(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
	res, err := b.exec(ctx, c)
	if err != nil {
		return res, fmt.Errorf("exec in sandbox %s: %w", b.options.Name, err)
	}
	return res, nil
}

func (b *Box) exec(caller context.Context, c sandbox.Command) (sandbox.Result, error) {
	if err := c.Check(); err != nil {
		return sandbox.Result{}, err
	}
	ctx, leave, err := b.enter(caller)
	if err != nil {
		return sandbox.Result{}, err
	}
	defer leave()
	if err := context.Cause(ctx); err != nil {
		return sandbox.Result{}, err
	}
	m, err := b.command(ctx, c)
	if err != nil {
		return sandbox.Result{}, err
	}
	ctx, stop := m.watch(ctx)
	defer stop()
	began := time.Now()
	res, err := m.follow(ctx)
	if full := b.overflowed(); full != nil && caller.Err() == nil {
		err = full // whatever it looks like: it did not end by itself
	}
	for _, f := range m.feeds {
		f.End()
	}
	if err != nil {
		return sandbox.Result{}, m.cancelled(ctx, caller, err)
	}
	for _, f := range m.feeds {
		f.Wait()
	}
	b.done(m.id)
	res.Truncated, res.Duration = m.budget.Truncated(), time.Since(began)
	return res, nil
}

// newID is a command's: a number of 16 digits below what common.sh calls most, since it
// is also what its processes are known by.
func newID() string { return strconv.FormatInt(1<<52+rand.Int64N(1<<52), 10) }

// done lets the files of an ended command go with the next one.
func (b *Box) done(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.old = append(b.old, id)
}

// command prepares what the launcher gets; input and long texts are uploaded.
func (b *Box) command(ctx context.Context, c sandbox.Command) (*command, error) {
	limit := c.MaxOutput
	if limit == 0 {
		limit = sandbox.DefaultMaxOutput
	}
	m := &command{
		box: b, id: newID(), kept: kept(c.Stdout, c.Stderr), max: limit + 1, limit: c.Timeout,
		budget: output.NewBudget(limit),
	}
	if c.Stdin != nil {
		if err := b.remote.Upload(ctx, dir+"/"+m.id+".in", c.Stdin); err != nil {
			return nil, fmt.Errorf("send input: %w", err)
		}
	}
	text, err := b.send(ctx, c, dir+"/"+m.id)
	if err != nil {
		return nil, fmt.Errorf("send command: %w", err)
	}
	m.text = text
	b.mu.Lock()
	m.old, b.old = b.old, nil
	b.mu.Unlock()
	m.feeds = [2]*output.Feed{output.New(c.Stdout, m.budget, output.Patience), output.New(c.Stderr, m.budget, output.Patience)}
	return m, nil
}

// send returns the text of a command, "" if it is in a file that begins with prefix:
// what is too long for an argument is uploaded.
func (b *Box) send(ctx context.Context, c sandbox.Command, prefix string) (string, error) {
	long := len(c.Shell) > longText
	if long {
		if err := b.remote.Upload(ctx, prefix+".cmd", strings.NewReader(c.Shell)); err != nil {
			return "", err
		}
	}
	b.mu.Lock()
	text := b.text(c, long)
	b.mu.Unlock()
	if len(text) <= longText {
		return text, nil
	}
	return "", b.remote.Upload(ctx, prefix+".sh", strings.NewReader(text)) // a large environment, or many arguments
}

func kept(stdout, stderr io.Writer) string {
	switch {
	case stdout == nil && stderr == nil:
		return "none"
	case stderr == nil:
		return "out"
	case stdout == nil:
		return "err"
	case output.Same(stdout, stderr):
		return "one"
	}
	return "both"
}

// text is what the launcher evaluates at last: environment, directory, program. A
// long one finds the text of a shell command in a file.
func (b *Box) text(c sandbox.Command, long bool) string {
	var t strings.Builder
	var odd []string // what bash cannot export goes through the program env
	export := func(k, v string) {
		if plain(k) {
			fmt.Fprintf(&t, "export %s=%s\n", k, shellescape.Quote(v))
		} else {
			odd = append(odd, shellescape.Quote(k+"="+v))
		}
	}
	path := "$PATH"
	if b.options.Path != "" {
		path = shellescape.Quote(b.options.Path)
	}
	if len(c.Path) > 0 {
		path = shellescape.Quote(strings.Join(c.Path, ":")+":") + path
	}
	fmt.Fprintf(&t, "export HOME=%s TERM=dumb LANG=C.UTF-8 USER=yudai PATH=%s\n", sandbox.HomeDir, path)
	for k, v := range b.env {
		export(k, v)
	}
	for k, v := range c.Env {
		export(k, v)
	}
	if len(odd) > 0 {
		fmt.Fprintf(&t, "within=(\"$env\" -- %s \"${within[@]}\")\n", strings.Join(odd, " "))
	}
	cd := c.Dir
	if cd == "" {
		cd = sandbox.RepoDir
	}
	fmt.Fprintf(&t, "cd -- %s || exit 126\n", shellescape.Quote(cd))
	switch {
	case len(c.Argv) > 0:
		t.WriteString(`exec "${within[@]}" ` + shellescape.QuoteCommand(c.Argv) + "\n")
	case !long:
		t.WriteString(`exec "${within[@]}" "$bash" -c ` + shellescape.Quote(c.Shell) + "\n")
	default: // one argument cannot be that long
		t.WriteString(`exec "${within[@]}" "$bash" "$p.cmd"` + "\n")
	}
	return t.String()
}

// plain reports whether bash can export a variable of that name, and the launcher has
// none of its own: npm knows npm_config_@scope:registry, and UID belongs to bash.
func plain(name string) bool {
	switch name {
	case "p", "within", "bash", "env", "UID", "EUID", "PPID", "GROUPS", "FUNCNAME", "DIRSTACK", "SHELLOPTS", "_":
		return false
	}
	return !strings.HasPrefix(name, "BASH") && regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(name)
}

// watch ends the context when the command lasts longer than its timeout and the
// launcher did not end it, and when the disk limit is exceeded.
func (m *command) watch(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var late *time.Timer
	if m.limit > 0 {
		late = time.AfterFunc(m.limit+grace, func() { cancel(errLate) })
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.box.measure(ctx, cancel)
	}()
	return ctx, func() {
		if late != nil {
			late.Stop()
		}
		cancel(nil)
		<-done
	}
}

// errLate says that a command outlived its timeout, which the launcher should have enforced.
var errLate = errors.New("the command outlived its timeout")

// measureEvery is how often the disk is looked at while a command runs.
const measureEvery = 500 * time.Millisecond

func (b *Box) measure(ctx context.Context, cancel context.CancelCauseFunc) {
	for b.options.Disk != nil && pause(ctx, measureEvery) == nil {
		used, err := b.options.Disk(ctx)
		if err == nil && used > b.options.DiskLimit {
			full := fmt.Errorf("sandbox %s holds %d MiB of at most %d: %w", b.options.Name, used>>20, b.options.DiskLimit>>20, sandbox.ErrDisk)
			b.overflow(full)
			cancel(full)
			return
		}
	}
}

// process is the launcher with everything it needs to know now.
func (m *command) process() Process {
	b := m.box
	return bash(commonScript+launchScript, dir+"/"+m.id, b.options.Token, mark(b.options.Strict), m.kept,
		fmt.Sprint(m.max), seconds(m.limit), fmt.Sprint(m.seen[0]), fmt.Sprint(m.seen[1]), b.options.OOM, strings.Join(m.old, " "), m.text)
}

// seconds is a limit of time as scripts have it; 0 is none.
func seconds(limit time.Duration) string {
	if limit <= 0 {
		return "0"
	}
	return strconv.FormatFloat(max(limit.Seconds(), 0.001), 'f', 3, 64)
}

// follow starts the command and looks at it until its end, through as many
// connections as that takes.
func (m *command) follow(ctx context.Context) (sandbox.Result, error) {
	progress, tries := time.Now(), 0
	for {
		code, err := m.box.remote.Run(ctx, m.process(), func(stderr bool, data []byte) {
			i := 0
			if stderr {
				i = 1
			}
			m.seen[i] += int64(len(data))
			_, _ = m.feeds[i].Write(data)
			progress, tries = time.Now(), 0
		})
		switch {
		case ctx.Err() != nil:
			return sandbox.Result{}, context.Cause(ctx)
		case err == nil:
			return m.result(ctx, code)
		case !errors.Is(err, ErrCut):
			return sandbox.Result{}, err
		case time.Since(progress) > lostTime:
			return sandbox.Result{}, fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
		}
		tries++
		if err := pause(ctx, min(time.Duration(1<<min(tries, 6))*50*time.Millisecond, 3*time.Second)); err != nil {
			return sandbox.Result{}, err
		}
	}
}

// result reads how the command ended.
func (m *command) result(ctx context.Context, code int) (sandbox.Result, error) {
	switch code {
	case codeOwner:
		return sandbox.Result{}, fmt.Errorf("it has another owner: %w", sandbox.ErrGone)
	case codeFull:
		return sandbox.Result{}, m.full()
	case codeLost:
		return sandbox.Result{}, fmt.Errorf("the command's keeper was killed: %w", sandbox.ErrUnavailable)
	case codeLook:
	default:
		return sandbox.Result{ExitCode: code}, nil
	}
	said, _, err := m.box.run(ctx, bash(`cat "$1"`, dir+"/"+m.id+".rc"))
	if err != nil {
		return sandbox.Result{}, fmt.Errorf("read the result: %w", err)
	}
	words := strings.Fields(said)
	if len(words) == 0 {
		return sandbox.Result{}, m.full()
	}
	res := sandbox.Result{}
	if res.ExitCode, err = strconv.Atoi(words[0]); err != nil {
		return sandbox.Result{}, fmt.Errorf("read the result %q: %w", said, err)
	}
	for _, flag := range words[1:] {
		switch flag {
		case "oom":
			res.OOM = true
		case "timeout":
			res.TimedOut, res.ExitCode = true, -1
		case "full":
			return sandbox.Result{}, m.full()
		}
	}
	return res, nil
}

// full is the error for a machine whose disk is full.
func (m *command) full() error {
	err := fmt.Errorf("the disk of sandbox %s is full: %w", m.box.options.Name, sandbox.ErrDisk)
	m.box.overflow(err)
	return err
}

// cancelled ends what may still run, unless the whole sandbox ends, and tells
// why the command was not seen to its end.
func (m *command) cancelled(ctx, caller context.Context, err error) error {
	if ctx.Err() != nil && m.box.life.Err() == nil && !errors.Is(err, sandbox.ErrDisk) {
		killing, cancel := context.WithTimeout(context.WithoutCancel(caller), killTime)
		defer cancel()
		p := bash(commonScript+killScript, dir+"/"+m.id, mark(m.box.options.Strict))
		p.Root = true
		if _, _, failed := m.box.run(killing, p); failed != nil && !errors.Is(failed, sandbox.ErrGone) {
			err = fmt.Errorf("%w (and the command was not seen to end: %w)", err, failed)
		}
		m.box.done(m.id)
	}
	for _, f := range m.feeds {
		f.Wait()
	}
	return err
}
