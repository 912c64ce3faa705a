package primesim

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/yudai-dev/yudai/test/machine"
)

// Limits of the gateway.
const (
	MaxUpload = 16 << 20 // bytes of one uploaded file
	MaxRead   = 10 << 20 // bytes that read-file hands out
)

// machineOf is the machine of an admitted request, nil if it has just ended.
func (s *Server) machineOf(b *box) *machine.Machine {
	s.mu.Lock()
	defer s.mu.Unlock()
	return b.machine
}

// upload writes a file, with its parent directories.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	b := s.box(r.Context())
	m, name := s.machineOf(b), r.URL.Query().Get("path")
	switch {
	case !path.IsAbs(name) || strings.HasSuffix(name, "/"):
		s.refuse(w, CallUpload, http.StatusBadRequest, "path must be absolute")
		return
	case r.URL.Query().Get("sandbox_id") != b.id:
		s.refuse(w, CallUpload, http.StatusBadRequest, "sandbox_id does not match")
		return
	case m == nil:
		refuseMissing(w, b)
		return
	}
	spool, size, status, text := s.receive(r)
	if spool == nil {
		s.refuse(w, CallUpload, status, text)
		return
	}
	defer func() { _, _ = spool.Close(), os.Remove(spool.Name()) }()
	if err := store(m, name, spool); err != nil {
		s.refuseFile(w, CallUpload, b, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"success": true, "path": name, "size": size, "timestamp": stamp(s.now())})
}

// receive takes the file of a form to a spool of the host's.
func (s *Server) receive(r *http.Request) (spool *os.File, size int64, status int, text string) {
	form, err := r.MultipartReader()
	if err != nil {
		return nil, 0, http.StatusBadRequest, "multipart/form-data is required"
	}
	part, err := form.NextPart()
	if err != nil || part.FormName() != "file" || part.FileName() == "" {
		return nil, 0, http.StatusBadRequest, "a part named file with a file name is required"
	}
	f, err := os.CreateTemp(s.dir, "upload-")
	if err != nil {
		return nil, 0, http.StatusInternalServerError, err.Error()
	}
	size, err = io.Copy(f, io.LimitReader(part, MaxUpload+1))
	if err == nil && size <= MaxUpload {
		if _, err = f.Seek(0, io.SeekStart); err == nil {
			return f, size, 0, ""
		}
	}
	_, _ = f.Close(), os.Remove(f.Name())
	if err != nil {
		return nil, 0, http.StatusBadRequest, "the upload broke off"
	}
	_, _ = io.Copy(io.Discard, r.Body) // a client that still sends would not see the answer
	return nil, 0, http.StatusRequestEntityTooLarge, "file exceeds 16 MiB"
}

// store writes a spooled file into a machine, as root.
func store(m *machine.Machine, name string, spool io.Reader) error {
	if err := mkdirs(m, path.Dir(path.Clean(name))); err != nil {
		return err
	}
	f, err := m.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, spool)
	return errors.Join(err, f.Close())
}

// mkdirs makes a directory of a machine and its parents.
func mkdirs(m *machine.Machine, dir string) error {
	if dir == "/" {
		return nil
	}
	f, err := m.OpenFile(dir, syscall.O_DIRECTORY, 0)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := mkdirs(m, path.Dir(dir)); err != nil {
		return err
	}
	err = m.Within(dir, func(host string) error { return os.Mkdir(host, 0o755) })
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// refuseFile answers what went wrong with a file.
func (s *Server) refuseFile(w http.ResponseWriter, c Call, b *box, err error) {
	switch {
	case s.machineOf(b) == nil:
		refuseMissing(w, b)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		s.refuse(w, c, http.StatusNotFound, "file not found")
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ELOOP), errors.Is(err, fs.ErrPermission):
		s.refuse(w, c, http.StatusBadRequest, "not a file that can be read or written")
	default:
		var errno syscall.Errno
		errors.As(err, &errno)
		s.refuse(w, c, http.StatusInternalServerError, errno.Error())
	}
}

// open opens the regular file that a request names, and answers if there is none.
func (s *Server) open(w http.ResponseWriter, r *http.Request, c Call) (*os.File, fs.FileInfo) {
	b := s.box(r.Context())
	m, name := s.machineOf(b), r.URL.Query().Get("path")
	if m == nil {
		refuseMissing(w, b)
		return nil, nil
	}
	if !path.IsAbs(name) {
		s.refuse(w, c, http.StatusBadRequest, "path must be absolute")
		return nil, nil
	}
	f, err := m.Open(name)
	if err != nil {
		s.refuseFile(w, c, b, err)
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		s.refuse(w, c, http.StatusBadRequest, "not a regular file")
		return nil, nil
	}
	return f, info
}

// download hands out the bytes of a file.
func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	f, _ := s.open(w, r, CallDownload)
	if f == nil {
		return
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(w, f); err != nil {
		abort(r)
	}
}

// readFile hands out a file as text; windows of it are not offered, as on virtual machines.
func (s *Server) readFile(w http.ResponseWriter, r *http.Request) {
	f, info := s.open(w, r, CallReadFile)
	if f == nil {
		return
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxRead+1))
	switch {
	case err != nil:
		s.refuseFile(w, CallReadFile, s.box(r.Context()), err)
	case len(data) > MaxRead || info.Size() > MaxRead:
		s.refuse(w, CallReadFile, http.StatusRequestEntityTooLarge, "file exceeds 10 MiB")
	default:
		writeJSON(w, http.StatusOK, map[string]any{"content": strings.ToValidUTF8(string(data), "\uFFFD"), "size": len(data)})
	}
}
