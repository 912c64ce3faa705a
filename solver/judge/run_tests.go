package judge

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
)

// Bounds on the report files of one run.
const (
	maxReportFiles = 5000
	maxReportBytes = 256 << 20
)

// defaultOutput is how much of the tests' output is read where nothing is said, in bytes.
const defaultOutput = 64 << 20

// clearScript removes old report files, so that nothing that an earlier run or the patch left
// is read as a result of this run.
const clearScript = `shopt -s globstar nullglob dotglob
IFS=
for f in $REPORT; do rm -rf -- "$f"; done
case $REPORT in /*) mkdir -p -- "$(dirname -- "$REPORT")" 2>/dev/null || true;; esac
`

// collectScript writes a tar of the report files without symbolic links.
const collectScript = `shopt -s globstar nullglob dotglob
IFS=
for f in $REPORT; do [ -f "$f" ] && [ ! -L "$f" ] && printf '%s\0' "$f"; done > "$KEEP/reports"
tar --null -T "$KEEP/reports" -cPf - 2>/dev/null
code=$?
case $REPORT in "$KEEP"/report-*/*) rm -rf -- "${REPORT%/*}";; esac
exit $code
`

// RunTests runs the test command in the repository of the sandbox and reads its results. The
// bytes are what the command printed, for people. A command that cannot be run, reaches its
// timeout or leaves no readable report gives a Report with NoVerdict. An error means that the
// sandbox failed.
func (t Trial) RunTests(ctx context.Context, sb sandbox.Sandbox) (Report, []byte, error) {
	t.Test = unnamed(t.Test)
	cmd := t.Test
	t.MaxOutput = cmp.Or(t.MaxOutput, defaultOutput)
	f, ok := formats[cmd.Format]
	if !ok {
		return Report{}, nil, fmt.Errorf("unknown test format %q", cmd.Format)
	}
	output := outputReader{results: &exitReader{}}
	if f.file == nil {
		output.results = f.output()
	} else if err := helper(ctx, sb, clearScript, cmd.Report, nil, 0); err != nil {
		return Report{}, nil, fmt.Errorf("remove old test reports: %w", err)
	}
	canaries, err := t.plant(ctx, sb)
	if err != nil {
		return Report{}, nil, err
	}
	cmd.Command = t.command(canaries)
	stdout, stderr := output.stdout(), output.stderr()
	res, err := sb.Exec(ctx, sandbox.Command{
		Shell: withJSON(cmd), Path: sandbox.ToolPath(), Env: map[string]string{"CI": "true"},
		Stdout: stdout, Stderr: stderr, MaxOutput: t.MaxOutput, Timeout: t.Timeout,
	})
	stdout.flush()
	stderr.flush()
	text := output.text.bytes()
	if err != nil {
		return Report{}, text, fmt.Errorf("run the tests: %w", err)
	}
	if why, setting := t.cutShort(res); why != "" {
		return Report{Counts: solve.Counts{Exit: res.ExitCode}, NoVerdict: why, Setting: setting}, text, nil
	}
	report, err := output.results.report(res.ExitCode)
	if f.file != nil {
		report, err = collect(ctx, sb, cmd.Report, f)
	}
	if err := canaries.remove(ctx, sb); err != nil {
		return Report{}, text, err
	}
	if err != nil && f.file != nil && !errors.Is(err, errReport) {
		return Report{}, text, fmt.Errorf("collect test reports: %w", err)
	}
	exit := canaries.take(&report, res.ExitCode)
	report, err = report.finish(cmd, exit, err)
	if err != nil {
		report.NoVerdict = "the tests' report cannot be read: it is too large or damaged"
		return report, append(text, []byte("\n"+err.Error()+"\n")...), nil //nolint:nilerr // a report that cannot be read is an outcome
	}
	return report, text, nil
}

// unnamed is a detected test command with its report where the candidate's code cannot know in advance.
func unnamed(cmd solve.TestCommand) solve.TestCommand {
	dir := strings.TrimSuffix(reportDir, "/") + "-" + strings.ToLower(rand.Text()) + "/"
	cmd.Command = strings.ReplaceAll(cmd.Command, reportDir, dir)
	cmd.Report = strings.ReplaceAll(cmd.Report, reportDir, dir)
	return cmd
}

// SandboxMemory is the Setting of a Report whose tests ran out of memory. The key of
// config.yml depends on the sandbox's driver.
const SandboxMemory = "memory of the sandbox"

// cutShort says why a run that ended too early gives no verdict, and which setting of
// config.yml bounded it.
func (t Trial) cutShort(res sandbox.Result) (why, setting string) {
	switch {
	case res.TimedOut:
		return fmt.Sprintf("the tests did not end within %s", t.Timeout), "solver.tests.time"
	case res.OOM:
		return "the tests ran out of memory", SandboxMemory
	case res.Truncated && formats[t.Test.Format].file == nil && t.Test.Format != "exit":
		return fmt.Sprintf("the tests printed more than %d MiB, so their results are incomplete", t.MaxOutput>>20), "solver.tests.output_mib"
	}
	return "", ""
}

// errReport says that report files are beyond the bounds.
var errReport = errors.New("test reports are too large or damaged")

// collect reads the files that match the pattern, as a stream.
func collect(ctx context.Context, sb sandbox.Sandbox, pattern string, f format) (Report, error) {
	in, out := io.Pipe()
	var report Report
	done := make(chan error, 1)
	go func() {
		var err error
		report, err = readReports(in, f)
		_ = in.CloseWithError(errReport) // never fails; what comes now is dropped
		done <- err
	}()
	err := helper(ctx, sb, collectScript, pattern, out, maxReportBytes+maxReportFiles*1024)
	_ = out.Close() // never fails
	read := <-done
	if err != nil && !errors.Is(err, errReport) {
		return Report{}, err
	}
	return report, errors.Join(read, err)
}

// readReports reads a tar of report files.
func readReports(in io.Reader, f format) (Report, error) {
	var report Report
	r := tar.NewReader(in)
	count := 0
	for total := int64(0); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, in)
			return report, err
		}
		if err != nil {
			return Report{}, fmt.Errorf("%w: %w", errReport, err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if total, count = total+h.Size, count+1; total > maxReportBytes || count > maxReportFiles {
			return Report{}, errReport
		}
		if err := f.file(&report, r); err != nil {
			return Report{}, fmt.Errorf("%w: %w", errReport, err)
		}
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
