package guest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// installScript checks the program's sum and becomes the program. Arguments: a file to
// install first, "" if there is none; for each architecture its name, the sum and the
// path; "--"; the program's arguments.
const installScript = `new=$1; shift; sum=; arch=$(uname -m)
while [ "$1" != -- ]; do
  [ "$1" != "$arch" ] || { sum=$2; path=$3; }
  shift 3
done
shift
[ -n "$sum" ] || { echo "$arch"; exit 91; }
for needs in bash sha256sum; do command -v $needs >/dev/null || { echo $needs; exit 92; }; done
check() { echo "$sum  $1" | sha256sum -c >/dev/null 2>&1; }
if [ -n "$new" ]; then
  mkdir -p "${path%/*}" && cat "$new" >"$path.$$" && chmod 755 "$path.$$" && check "$path.$$" && mv -f "$path.$$" "$path" ||
    { rm -f "$path.$$"; exit 93; }
  rm -f "$new"
fi
check "$path" || { echo "$arch"; exit 94; }
exec "$path" "$@"`

// Exit codes of installScript.
const (
	codeArch   = 91 // an unknown architecture
	codeLacks  = 92 // a program is missing
	codeAbsent = 94 // our program is not there, or is another one
)

// archNames are the architectures as uname tells them, and as Go does.
func archNames() map[string]string { return map[string]string{"x86_64": "amd64", "aarch64": "arm64"} }

// install starts the program with its first request, after a check of its sum. Where it
// is missing it is uploaded before.
func (h *Handle) install(ctx context.Context, c call) error {
	var known []string
	for machine, arch := range archNames() {
		p, err := ProgramFor(arch)
		if err != nil {
			return err
		}
		known = append(known, machine, p.SHA256, p.Path)
	}
	for uploaded := ""; ; {
		c.command = append(append([]string{"/bin/sh", "-c", installScript, "yudai", uploaded}, known...), "--")
		a, err := h.call(ctx, c)
		var early *endedEarly
		if !errors.As(err, &early) {
			h.program = a.Detail
			return refused(a, err)
		}
		said := strings.TrimSpace(early.stdout)
		switch {
		case early.code == codeArch:
			return fmt.Errorf("yudai has no program for its architecture %s, only for x86_64 and aarch64: %w", said, sandbox.ErrSetting)
		case early.code == codeLacks:
			return fmt.Errorf("it lacks %s: %w", said, sandbox.ErrSetting)
		case early.code == 126, early.code == 127:
			return fmt.Errorf("it lacks sh: %w", sandbox.ErrSetting)
		case early.code != codeAbsent || uploaded != "":
			return fmt.Errorf("put yudai's program into it: %w", err)
		}
		if uploaded, err = h.upload(ctx, archNames()[said]); err != nil {
			return fmt.Errorf("put yudai's program into it: %w", err)
		}
	}
}

// upload sends the program to where it can be installed from.
func (h *Handle) upload(ctx context.Context, arch string) (string, error) {
	p, err := ProgramFor(arch)
	if err != nil {
		return "", err
	}
	data, err := p.Data()
	if err != nil {
		return "", err
	}
	file := "/tmp/.yudai-" + strings.ToLower(rand.Text())
	return file, h.remote.Upload(ctx, file, bytes.NewReader(data))
}
