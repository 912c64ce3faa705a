package swerex

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/sandbox"
)

// execute runs one command apart from all shells.
func (s *Server) execute(c command) (executed, error) {
	if !c.Shell {
		return executed{}, raise(classAny, "this endpoint runs commands with shell=True only: SWE-agent needs no others")
	}
	argv := []string{"bash", "-c", `cd -- "$1" || exit; shift; exec "$@"`, "bash", cmp.Or(replacePaths(c.Dir), "."), "env"}
	for name, value := range c.Env {
		argv = append(argv, name+"="+replacePaths(value))
	}
	run := sandbox.Command{
		Argv: append(argv, "/bin/sh", "-c", replacePaths(c.Command)), Path: sandbox.ToolPath(), MaxOutput: s.output,
	}
	if err := run.Check(); err != nil {
		return executed{}, raise(classAny, "%v", err)
	}
	if c.Timeout != nil {
		run.Timeout = duration(c.Timeout)
	}
	ran, err := sandbox.Capture(s.life, s.box, run)
	switch {
	case err != nil:
		return executed{}, fmt.Errorf("execute: %w", err)
	case ran.TimedOut:
		return executed{}, raise(classTimeout, "timeout after %v while running command %q", run.Timeout, c.Command)
	}
	out := executed{Stdout: escaped(ran.Stdout), Stderr: escaped(ran.Stderr), ExitCode: ran.ExitCode}
	if c.Check && out.ExitCode != 0 {
		err = nonZero(c.ErrorMsg, c.Command, out.ExitCode, out.Stdout+out.Stderr)
	}
	return out, err
}

// readFile returns a file as text, with all line ends as \n.
func (s *Server) readFile(r readFile) (fileRead, error) {
	f, err := s.box.Get(s.life, replacePaths(r.Path))
	if err != nil {
		return fileRead{}, s.fileError(r.Path, readDenied, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return fileRead{}, s.fileError(r.Path, readDenied, err)
	}
	switch {
	case len(data) > mostFile:
		return fileRead{}, raise(classAny, "file %s is larger than %d bytes", r.Path, mostFile)
	case r.Errors != "backslashreplace" && !utf8.Valid(data):
		return fileRead{}, raise(classAny, "file %s is not UTF-8", r.Path)
	}
	return fileRead{Content: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(escaped(data))}, nil
}

func (s *Server) writeFile(w writeFile) (nothing, error) {
	return nothing{}, s.put(w.Path, []byte(w.Content))
}

func (s *Server) put(path string, data []byte) error {
	return s.fileError(path, writeDenied, agent.File{Path: replacePaths(path), Data: data}.Put(s.life, s.box))
}

// Whether the user of commands may not read the file $1, or not put one there: that is a rename in its directory.
const (
	readDenied  = `[ -e "$1" ] && ! [ -r "$1" ]`
	writeDenied = `d=$(dirname -- "$1"); [ -d "$d" ] && ! { [ -w "$d" ] && [ -x "$d" ]; }`
)

// fileError turns an error about a file into an exception if the sandbox works.
func (s *Server) fileError(path, denied string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return raise(classNotFound, "[Errno 2] No such file or directory: '%s'", path)
	case errors.Is(err, sandbox.ErrPath):
		return raise(classAny, "%v", err)
	case s.holds(denied, path):
		return raise(classDenied, "[Errno 13] Permission denied: '%s'", path)
	}
	return fmt.Errorf("file %s: %w", path, err)
}

// holds asks the sandbox whether a condition of bash is true of a path.
func (s *Server) holds(condition, path string) bool {
	ran, err := s.box.Exec(s.life, sandbox.Command{Argv: []string{"bash", "-c", condition, "bash", replacePaths(path)}, Timeout: margin})
	return err == nil && !ran.TimedOut && ran.ExitCode == 0
}

// upload writes a file, or a directory that comes as a zip archive.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	file, _, err := r.FormFile("file")
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	data, err := io.ReadAll(file)
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	target := r.FormValue("target_path")
	if r.FormValue("unzip") == "true" {
		s.answer(w, nothing{}, s.unpack(target, data))
		return
	}
	s.answer(w, nothing{}, s.put(target, replaceContent(target, data)))
}

// unpackScript unpacks the archive that is its input in the directory $1.
const unpackScript = `mkdir -p -- "$1" && exec tar -x -f - -C "$1"`

// unpack writes the files of a zip archive below a directory.
func (s *Server) unpack(target string, data []byte) error {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return raise(classAny, "the upload is no zip archive: %v", err)
	}
	if len(archive.File) > mostFiles {
		return raise(classAny, "the upload has more than %d files", mostFiles)
	}
	var out bytes.Buffer
	w, left := tar.NewWriter(&out), int64(mostUnpacked)
	for _, f := range archive.File {
		if err := repack(w, target, f, &left); err != nil {
			return raise(classAny, "upload %s: %v", f.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("pack upload: %w", err)
	}
	ran, err := sandbox.Capture(s.life, s.box, sandbox.Command{
		Argv: []string{"bash", "-c", unpackScript, "bash", replacePaths(target)}, Stdin: &out, Timeout: margin, MaxOutput: 1 << 16,
	})
	switch {
	case err != nil:
		return fmt.Errorf("unpack upload: %w", err)
	case ran.TimedOut || ran.ExitCode != 0:
		return raise(classAny, "upload %s: %s", target, strings.TrimSpace(string(ran.Stderr)))
	}
	return nil
}

// repack adds one file of the archive. Its mode is an ordinary one, as in Python. left is
// how many bytes the rest of the archive may have.
func repack(w *tar.Writer, target string, f *zip.File, left *int64) error {
	if strings.HasSuffix(f.Name, "/") {
		return w.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o755, Typeflag: tar.TypeDir, ModTime: time.Now()})
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(in, *left+1))
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if *left -= int64(len(data)); *left < 0 {
		return fmt.Errorf("the archive has more than %d bytes", mostUnpacked)
	}
	data = replaceContent(target, data)
	if err := w.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o644, Size: int64(len(data)), ModTime: time.Now()}); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// replaceContent replaces paths in a file that goes below one of them, if the file is text.
func replaceContent(path string, data []byte) []byte {
	if replacePaths(path) == path || !utf8.Valid(data) || slices.Contains(data, 0) {
		return data
	}
	return []byte(replacePaths(string(data)))
}
