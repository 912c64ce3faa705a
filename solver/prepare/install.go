package prepare

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// installRepository runs the install command, with the network that the sandbox has.
func (b *build) installRepository(ctx context.Context, sb sandbox.Sandbox) error {
	t := b.settings()
	out, res, err := sandbox.Output(ctx, sb, sandbox.Command{
		Shell: b.setup.Install, Path: sandbox.ToolPath(), Env: b.by.options.InstallEnv, Timeout: t.InstallTime, MaxOutput: t.Output,
	})
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	if err := b.by.store.PutArtifact(ctx, b.solve.ID, installLog, []byte(out)); err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return fault.Refuse(fmt.Sprintf("The install command `%s` failed (exit %d%s). Mend it, or set solver.tests.install%s. Its last line: %s%s",
			b.setup.Install, res.ExitCode, timedOut(res), b.by.ownKey("install.command"), lastLine(out), closed(sb, b.setup.Hosts, t.OnlyHosts)))
	}
	return nil
}

func timedOut(res sandbox.Result) string {
	if res.TimedOut {
		return ", timed out"
	}
	return ""
}

// lastLine is the last non-empty line, cut.
func lastLine(out string) string {
	lines := bytes.Split(bytes.TrimSpace([]byte(out)), []byte("\n"))
	return "`" + solve.CutText(string(lines[len(lines)-1]), 200) + "`"
}

// maxClosed is how many hosts are named that an install could not reach.
const maxClosed = 5

// closed names the hosts that the install asked for and did not get, with the
// setting that opens each kind; "" if there were none. only says that the repository
// itself named all hosts that may be reached.
func closed(sb sandbox.Sandbox, allowed []string, only bool) string {
	r, ok := sb.(sandbox.Refuser)
	if !ok {
		return ""
	}
	var unlisted, private []string
	for _, host := range r.Refused() {
		switch {
		case !repoconfig.IsHost(host):
		case slices.Contains(allowed, host):
			private = append(private, "`"+host+"`")
		default:
			unlisted = append(unlisted, "`"+host+"`")
		}
	}
	var text string
	opener := "solver.tests.hosts can allow that"
	if only {
		opener = "network in " + solve.RepoConfigFile + " leaves it closed"
	}
	if len(unlisted) > 0 {
		text += ". It asked for " + strings.Join(unlisted[:min(len(unlisted), maxClosed)], ", ") + ": " + opener
	}
	if len(private) > 0 {
		text += ". Here " + strings.Join(private[:min(len(private), maxClosed)], ", ") + " leads to a private address: " + opensPrivate(sb)
	}
	return text
}

// opensPrivate says what opens private addresses, as far as that can be set.
func opensPrivate(sb sandbox.Sandbox) string {
	if p, ok := sb.(sandbox.Placed); ok {
		return fmt.Sprintf("sandbox.%s.allow_private can allow that", p.Place().Driver)
	}
	return "the sandbox driver keeps those closed"
}

// HostsIn lists the hosts of the URLs in variables: naming a mirror is reason
// enough to let the install reach it.
func HostsIn(env map[string]string) []string {
	var out []string
	for _, value := range env {
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '|' || r == ' ' }) {
			u, err := url.Parse(strings.TrimPrefix(word, "sparse+"))
			if err == nil && (u.Scheme == "https" || u.Scheme == "http") && repoconfig.IsHost(u.Hostname()) {
				out = append(out, u.Hostname())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
