package e2bsim

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/yudai-dev/yudai/test/machine"
)

// templateBuild carries a recipe out in a machine of its own.
type templateBuild struct {
	server *Server
	recipe Recipe
	dir    string // the result
	note   func(step int, text string)

	user, workdir string
	env           []string
	saved         bool
}

// made is the directory of the result, "" where no step left files.
func (w *templateBuild) made() string {
	if !w.saved {
		return ""
	}
	return w.dir
}

// run does the steps and saves the files.
func (w *templateBuild) run() error {
	from, err := w.from()
	if err != nil {
		return err
	}
	m, err := machine.Start(machine.Options{Dir: w.dir + ".build", From: from})
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }()
	w.note(0, "Building from "+w.recipe.FromImage+w.recipe.FromTemplate)
	for i, step := range w.recipe.Steps {
		w.note(i+1, step.Type+" "+strings.Join(step.Args, " "))
		if err := w.step(m, i+1, step); err != nil {
			return err
		}
	}
	w.saved = true
	return m.Save(w.dir)
}

// from is the directory of the template that the recipe begins with, if any.
func (w *templateBuild) from() (string, error) {
	if w.recipe.FromTemplate == "" {
		return "", nil
	}
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	t, err := w.server.resolve(w.recipe.FromTemplate)
	if err != nil {
		return "", err
	}
	return t.dir, nil
}

func (w *templateBuild) step(m *machine.Machine, n int, s Step) error {
	switch s.Type {
	case "ENV":
		for i := 0; i+1 < len(s.Args); i += 2 {
			w.env = append(w.env, s.Args[i]+"="+s.Args[i+1])
		}
	case "WORKDIR":
		w.workdir = s.Args[0]
		return w.shell(m, n, machine.Root, `mkdir -p -- "$1" && chown user: -- "$1"`, w.workdir)
	case "USER":
		w.user = s.Args[0]
	case "RUN":
		if !w.server.o.RunSteps {
			return nil
		}
		user := w.user
		if len(s.Args) > 1 && s.Args[1] != "" {
			user = s.Args[1]
		}
		return w.shell(m, n, user, s.Args[0])
	case "COPY":
		return w.copy(m, n, s)
	}
	return nil
}

// copy unpacks the archive of a step and puts its source where it belongs.
func (w *templateBuild) copy(m *machine.Machine, n int, s Step) error {
	in, err := os.Open(w.server.uploaded(s.FilesHash))
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := m.Create("/var/tmp/context.tar.gz")
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	args := append(append([]string{}, s.Args...), "", "")[:4]
	return w.shell(m, n, machine.Root, `set -e; rm -rf /var/tmp/context; mkdir /var/tmp/context; tar -xf /var/tmp/context.tar.gz -C /var/tmp/context
to=$2; case $to in */) to=$to$(basename -- "$1") ;; esac
mkdir -p -- "$(dirname -- "$to")"; cp -rT -- "/var/tmp/context/$1" "$to"; chown -R -- "${3:-user}" "$to"; [ -z "$4" ] || chmod -- "$4" "$to"
rm -rf /var/tmp/context /var/tmp/context.tar.gz`, args...)
}

// shell runs a shell text in the machine; its output is noted.
func (w *templateBuild) shell(m *machine.Machine, n int, user, text string, args ...string) error {
	dir := w.workdir
	if dir == "" {
		dir = "/"
	}
	c := m.Command(context.Background(), user, append([]string{"PATH=" + machine.Path}, w.env...), dir, append([]string{"bash", "-c", text, "bash"}, args...)...)
	out, err := c.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		w.note(n, strings.TrimRight(line, "\n"))
	}
	if err != nil {
		return fmt.Errorf("step %d failed: %w: %s", n, err, strings.TrimSpace(string(out)))
	}
	return nil
}
