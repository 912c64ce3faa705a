package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/sandbox"
)

// Check runs a command in a real sandbox.
func (d *Driver) Check(ctx context.Context) error {
	sb, err := d.Open(ctx, sandbox.Spec{Name: "check-" + token()})
	if err != nil {
		return explainCheck(err)
	}
	out, res, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: "echo ready", Dir: "/"})
	if err == nil && (res.ExitCode != 0 || out != "ready\n") {
		err = fmt.Errorf("a command gave exit %d and %q", res.ExitCode, out)
	}
	return explainCheck(errors.Join(err, sb.Close(ctx)))
}

// explainCheck says what is wrong in the contract's words.
func explainCheck(err error) error {
	if err == nil || errors.Is(err, sandbox.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
}
