package judge

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// Bounds on the report files of one run.
const (
	maxReportFiles = 5000
	maxReportBytes = 64 << 20
)

// defaultOutput is how much of the tests' output is read where nothing is said, in bytes.
const defaultOutput = 64 << 20

// clearScript removes old report files: one that an earlier run or the patch
// left must never be read as a result of this run.
const clearScript = `shopt -s globstar nullglob dotglob
IFS=
for f in $REPORT; do rm -rf -- "$f"; done
case $REPORT in /*) mkdir -p -- "$(dirname -- "$REPORT")" 2>/dev/null || true;; esac
`

// collectScript writes a tar of the report files; symbolic links stay links and are not read.
const collectScript = `shopt -s globstar nullglob dotglob
IFS=
for f in $REPORT; do [ -f "$f" ] && [ ! -L "$f" ] && printf '%s\0' "$f"; done > "$KEEP/reports"
tar --null -T "$KEEP/reports" -cPf - 2>/dev/null
`

// RunTests runs the test command in the sandbox, in the repository, and reads
// its results. log is what the command printed, for people. A command that
// cannot be run, ends at its timeout or without a readable report gives a Report
// with NoVerdict; err means that the sandbox failed. A timeout of 0 is none, a
// maxOutput of 0 is 64 MiB.
func RunTests(ctx context.Context, sb sandbox.Sandbox, cmd solve.TestCommand, timeout time.Duration, maxOutput int64) (Report, []byte, error) {
	if maxOutput == 0 {
		maxOutput = defaultOutput
	}
	if cmd.Format == "junit" {
		if err := helper(ctx, sb, clearScript, cmd.Report, nil, 0); err != nil {
			return Report{}, nil, fmt.Errorf("remove old test reports: %w", err)
		}
	}
	var out bytes.Buffer
	log := &sharedBuffer{}
	res, err := sb.Exec(ctx, sandbox.Command{
		Shell: withJSON(cmd), Env: map[string]string{"CI": "true"},
		Stdout: io.MultiWriter(&out, log), Stderr: log, MaxOutput: maxOutput, Timeout: timeout,
	})
	if err != nil {
		return Report{}, log.Bytes(), fmt.Errorf("run the tests: %w", err)
	}
	text := log.Bytes()
	if cmd.Format == "go" {
		text = goText(text)
	}
	unread := Report{Counts: solve.Counts{Exit: res.ExitCode}}
	switch {
	case res.TimedOut:
		unread.NoVerdict = fmt.Sprintf("the tests did not end within %s", timeout)
		return unread, text, nil
	case res.OOM:
		unread.NoVerdict = "the tests ran out of memory"
		return unread, text, nil
	case res.Truncated && cmd.Format == "go":
		unread.NoVerdict = fmt.Sprintf("the tests printed more than %d MiB, so their results are incomplete", maxOutput>>20)
		return unread, text, nil
	}
	var files [][]byte
	if cmd.Format == "junit" {
		if files, err = collect(ctx, sb, cmd.Report); err != nil {
			if errors.Is(err, errReport) {
				unread.NoVerdict = "the tests' report cannot be read: it is too large or damaged"
				return unread, text, nil
			}
			return Report{}, text, fmt.Errorf("collect test reports: %w", err)
		}
	}
	read := out.Bytes()
	if cmd.Format == "exit" {
		read = text
	}
	report, err := Parse(cmd, res.ExitCode, read, files)
	if err != nil {
		unread.NoVerdict = "the tests' report cannot be read: it is too large or damaged"
		return unread, append(text, []byte("\n"+err.Error()+"\n")...), nil //nolint:nilerr // a report that cannot be read is an outcome
	}
	return report, text, nil
}

// withJSON makes a plain "go test" print events.
func withJSON(cmd solve.TestCommand) string {
	before, after, ok := strings.Cut(cmd.Command, "go test ")
	if !ok || cmd.Format != "go" || strings.Contains(after, "-json") {
		return cmd.Command
	}
	return before + "go test -json " + after
}

// errReport says that report files are beyond the bounds.
var errReport = errors.New("test reports are too large or damaged")

// collect returns the content of the files that match the pattern.
func collect(ctx context.Context, sb sandbox.Sandbox, pattern string) ([][]byte, error) {
	var out bytes.Buffer
	if err := helper(ctx, sb, collectScript, pattern, &out, maxReportBytes+maxReportFiles*1024); err != nil {
		return nil, err
	}
	var files [][]byte
	r := tar.NewReader(&out)
	for total := int64(0); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errReport, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if total += h.Size; total > maxReportBytes || len(files) >= maxReportFiles {
			return nil, errReport
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errReport, err)
		}
		files = append(files, data)
	}
}

// helper runs one of our scripts with the pattern of report files.
func helper(ctx context.Context, sb sandbox.Sandbox, text, pattern string, out io.Writer, limit int64) error {
	res, err := sb.Exec(ctx, sandbox.Command{
		Argv: []string{"bash", "-c", text}, Env: map[string]string{"REPORT": pattern, "KEEP": sandbox.KeepDir},
		Stdout: out, MaxOutput: limit, Timeout: 2 * time.Minute,
	})
	switch {
	case err != nil:
		return err
	case res.Truncated:
		return errReport
	case res.ExitCode != 0:
		return fmt.Errorf("%w: exit %d", errReport, res.ExitCode)
	}
	return nil
}

// sharedBuffer takes both streams of a command.
type sharedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write never fails.
func (b *sharedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// Bytes is what was written.
func (b *sharedBuffer) Bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.buf.Bytes())
}
