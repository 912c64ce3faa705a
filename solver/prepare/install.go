package prepare

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/fault"
)

// installation is one command that installs something, and what people are told if it fails.
type installation struct {
	name    string // in errors
	command sandbox.Command
	log     string   // the artifact with its output
	hosts   []string // what it may reach
	only    bool     // the repository itself named all hosts
	failed  string   // what failed
	help    string   // what to do
}

// run runs the command with the network that the sandbox has.
func (b *build) run(ctx context.Context, sb sandbox.Sandbox, i installation) error {
	t := b.settings()
	i.command.Env, i.command.Timeout, i.command.MaxOutput = b.by.options.InstallEnv, t.InstallTime, t.Output
	out, res, err := sandbox.Output(ctx, sb, i.command)
	if err != nil {
		return fmt.Errorf("%s: %w", i.name, err)
	}
	if err := b.by.store.PutArtifact(ctx, b.solve.ID, i.log, []byte(out)); err != nil {
		return err
	}
	if res.ExitCode == 0 {
		return nil
	}
	exit := fmt.Sprintf("exit %d", res.ExitCode)
	if res.TimedOut {
		exit += ", timed out"
	}
	return fault.Refusef("%s (%s). %s. %s%s", i.failed, exit, i.help, said(out), closed(sb, i.hosts, i.only))
}

// notes are what people must know of the setup: the sentences that the install printed, and what is not tested.
func (b *build) notes(ctx context.Context) ([]string, error) {
	var out []string
	if len(b.setup.Unlocked) > 0 {
		log, err := b.by.store.Artifact(ctx, b.solve.ID, installLog)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(string(log), "\n")
		out = slices.DeleteFunc(slices.Clone(b.setup.Unlocked), func(note string) bool { return !slices.Contains(lines, note) })
	}
	if b.setup.Untested != "" {
		out = append(out, b.setup.Untested)
	}
	return out, nil
}

// installRepository installs the repository's dependencies.
func (b *build) installRepository(ctx context.Context, sb sandbox.Sandbox) error {
	return b.run(ctx, sb, installation{
		name:    "install",
		command: sandbox.Command{Shell: b.setup.Install, Path: sandbox.ToolPath()},
		log:     installLog, hosts: b.setup.Hosts, only: b.settings().OnlyHosts,
		failed: "The install command `" + b.setup.Install + "` failed",
		help:   "Mend it, or set solver.tests.install" + b.by.ownKey("install.command"),
	})
}

// errorLine is a line with which installers say what went wrong.
var errorLine = regexp.MustCompile(`(?i)\berror\b|\berr!|\bfatal\b|\bfailed\b|\bcannot\b|\bcould not\b|not found\b|^E:`)

// maxErrors is how many lines of an installer's errors are shown.
const maxErrors = 3

// said are the first lines in which the output of an install speaks of an error, cut: what follows is mostly advice. Where no
// line does, it is the last one.
func said(out string) string {
	var errs []string
	last := ""
	for line := range strings.Lines(out) {
		if line = solve.OneLine(line); line == "" {
			continue
		}
		last = "`" + solve.Clip(strings.ReplaceAll(line, "`", "'"), 150) + "`"
		if len(errs) < maxErrors && errorLine.MatchString(line) && !slices.Contains(errs, last) {
			errs = append(errs, last)
		}
	}
	if len(errs) == 0 {
		return "Its last line: " + cmp.Or(last, "it printed nothing")
	}
	return "It says: " + strings.Join(errs, ", ")
}

// maxClosed is how many of the hosts that an install could not reach are named.
const maxClosed = 5

// closed names the hosts that the install could not reach, with the setting that opens each
// kind; "" if there were none. only says that the repository itself named all hosts.
func closed(sb sandbox.Sandbox, allowed []string, only bool) string {
	r, ok := sandbox.As[sandbox.Refuser](sb)
	if !ok {
		return ""
	}
	var unlisted, private []string
	for _, host := range r.Refused() {
		switch {
		case !solve.HostName(host):
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
	first := func(hosts []string) string { return strings.Join(hosts[:min(len(hosts), maxClosed)], ", ") }
	if len(unlisted) > 0 {
		text += ". It asked for " + first(unlisted) + ": " + opener
	}
	if len(private) > 0 {
		text += ". Here " + first(private) + " leads to a private address: " + opensPrivate(sb)
	}
	return text
}

// opensPrivate names the setting that opens private addresses, if there is one.
func opensPrivate(sb sandbox.Sandbox) string {
	if p, ok := sandbox.As[sandbox.Placed](sb); ok {
		return fmt.Sprintf("sandbox.%s.allow_private can allow that", p.Place().Driver)
	}
	return "the sandbox driver keeps those closed"
}

// HostsIn lists the hosts of the URLs in variables: the install may reach a mirror that the
// operator names there.
func HostsIn(env map[string]string) []string {
	var out []string
	for _, value := range env {
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == '|' || r == ' ' }) {
			u, err := url.Parse(strings.TrimPrefix(word, "sparse+"))
			if err == nil && (u.Scheme == "https" || u.Scheme == "http") && solve.HostName(u.Hostname()) {
				out = append(out, u.Hostname())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
