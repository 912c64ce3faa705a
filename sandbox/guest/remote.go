// Package guest makes a sandbox out of the least that a provider of machines offers:
// start a program and read what it prints, write a file, read a file.
//
// A small static program of ours does the work inside (package program; the build
// embeds it for each architecture). It writes the output and the end of every command
// to files of the machine. Those are the truth: the provider's stream is a live view
// of them and may break or stall. The driver then makes the same call again; the
// program does not start the command a second time and goes on with the next byte. A
// slow reader never holds a command up.
//
// A driver implements [Remote] for a machine. [Handle] does the rest: commands, files,
// limits of output and time, the end of process trees, ownership.
package guest

import (
	"context"
	"errors"
	"io"
)

// ErrCut says that the view of a running program was lost: a broken or silent
// connection. The program may run on, or never have begun.
var ErrCut = errors.New("connection to the sandbox was cut")

// Process is one program for the provider to start.
type Process struct {
	// Argv is the program, an absolute path, and its arguments; together below 100 KiB.
	Argv []string
	// Root asks for the machine's administrator where the provider can choose.
	Root bool
}

// Remote is what a provider offers for one machine. All methods may be called
// concurrently. Where the machine is known to be gone they return sandbox.ErrGone.
type Remote interface {
	// Run starts the program with an empty input and the provider's own environment
	// and directory, and returns its exit code when it ended and its output has been
	// passed on. out is called from one goroutine, in order for each stream, and does
	// not block. When ctx ends Run returns soon; whether the program ends, too, is
	// left open. [ErrCut] where it was started or may have been, and is not seen to
	// its end.
	Run(ctx context.Context, p Process, out func(stderr bool, data []byte)) (code int, err error)
	// Upload writes a file, of any size, at an absolute path in an existing directory
	// that the commands' user may write, and gives it to that user. A file that is
	// there is replaced. The reader's own error is returned as it is (wrapped).
	Upload(ctx context.Context, path string, r io.Reader) error
	// Download opens a regular file that exists and is readable for the commands' user.
	Download(ctx context.Context, path string) (io.ReadCloser, error)
}
