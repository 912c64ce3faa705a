package e2bsim

import (
	"compress/gzip"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Signature returns what hands a file out, or takes one in, without the token: op
// is "read" or "write", expiry in unix seconds, 0 for none.
func Signature(name, op, user, token string, expiry int64) string {
	text := name + ":" + op + ":" + user + ":" + token
	if expiry != 0 {
		text += ":" + strconv.FormatInt(expiry, 10)
	}
	sum := sha256.Sum256([]byte(text))
	return "v1_" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// admitted checks the token or the signature of a request for a file.
func (d *daemon) admitted(w http.ResponseWriter, r *http.Request, op string) bool {
	if d.trusts(r) {
		return true
	}
	q := r.URL.Query()
	given := q.Get("signature")
	switch {
	case r.Header.Get("X-Access-Token") != "":
		fault(w, http.StatusUnauthorized, "access token present in header but does not match")
		return false
	case given == "":
		fault(w, http.StatusUnauthorized, "missing signature query parameter")
		return false
	}
	expiry, _ := strconv.ParseInt(q.Get("signature_expiration"), 10, 64)
	d.mu.Lock()
	want := Signature(q.Get("path"), op, q.Get("username"), d.token, expiry)
	d.mu.Unlock()
	switch {
	case subtle.ConstantTimeCompare([]byte(want), []byte(given)) != 1:
		fault(w, http.StatusUnauthorized, "invalid signature")
		return false
	case expiry != 0 && d.now().Unix() > expiry:
		fault(w, http.StatusUnauthorized, "signature is already expired")
		return false
	}
	return true
}

// fileUser returns whom a request's username means.
func (d *daemon) fileUser(w http.ResponseWriter, name string) (string, bool) {
	if !d.knows(name) {
		fault(w, http.StatusUnauthorized, "error looking up user '%s': user: unknown user %s", name, name)
		return "", false
	}
	return d.userOf(name), true
}

// download is GET /files.
func (d *daemon) download(w http.ResponseWriter, r *http.Request) {
	if !d.admitted(w, r, "read") {
		return
	}
	q := r.URL.Query()
	user, ok := d.fileUser(w, q.Get("username"))
	if !ok {
		return
	}
	name := absolute(q.Get("path"), user)
	f, err := d.machine.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		fault(w, http.StatusNotFound, "path '%s' does not exist", name)
		return
	}
	if err != nil {
		fault(w, http.StatusInternalServerError, "error opening file '%s': %v", name, err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		fault(w, http.StatusInternalServerError, "error checking if path exists '%s': %v", name, err)
		return
	case info.IsDir():
		fault(w, http.StatusBadRequest, "path '%s' is a directory", name)
		return
	case !info.Mode().IsRegular():
		fault(w, http.StatusBadRequest, "path '%s' is not a regular file", name)
		return
	}
	serve(w, r, name, f, info.ModTime())
}

// serve hands a file out, compressed where the client accepts that.
func serve(w http.ResponseWriter, r *http.Request, name string, f *os.File, changed time.Time) {
	w.Header().Add("Vary", "Accept-Encoding")
	w.Header().Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": path.Base(name)}))
	accepts := strings.ReplaceAll(r.Header.Get("Accept-Encoding"), " ", "")
	switch {
	case r.Header.Get("Range") == "" && strings.Contains(accepts, "gzip") && !strings.Contains(accepts, "gzip;q=0"):
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "application/octet-stream")
		z := gzip.NewWriter(w)
		_, _ = io.Copy(z, f)
		_ = z.Close()
	case strings.Contains(accepts, "identity;q=0"):
		fault(w, http.StatusNotAcceptable, "no acceptable encoding found")
	default:
		http.ServeContent(w, r, path.Base(name), changed, f)
	}
}

// written is a file in the answer to an upload.
type written struct {
	Name     string            `json:"name"`
	Path     string            `json:"path"`
	Type     string            `json:"type"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// upload is POST /files.
func (d *daemon) upload(w http.ResponseWriter, r *http.Request) {
	if !d.admitted(w, r, "write") {
		return
	}
	q := r.URL.Query()
	user, ok := d.fileUser(w, q.Get("username"))
	if !ok {
		return
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			fault(w, http.StatusBadRequest, "error reading gzip: %v", err)
			return
		}
		body = z
	}
	meta, err := metadataOf(r.Header)
	if err != nil {
		fault(w, http.StatusBadRequest, "%v", err)
		return
	}
	var all []written
	var p *problem
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case kind == "application/octet-stream" && !older(d.version, "0.5.7"):
		var one written
		if one, p = d.store(absolute(q.Get("path"), user), user, body, meta); p == nil {
			all = append(all, one)
		}
	case kind == "multipart/form-data":
		all, p = d.storeParts(q.Get("path"), user, body, params["boundary"], meta)
	default:
		p = refuse(http.StatusBadRequest, "unsupported content type: %s, expected multipart/form-data or application/octet-stream", r.Header.Get("Content-Type"))
	}
	if p != nil {
		fault(w, p.status, "%s", p.message)
		return
	}
	data, err := json.Marshal(notNil(all))
	if err != nil {
		fault(w, http.StatusInternalServerError, "%v", err)
		return
	}
	_, _ = w.Write(data) // as text, the type is not set
}

// metadataOf reads the X-Metadata- headers.
func metadataOf(h http.Header) (map[string]string, error) {
	var all map[string]string
	size := 0
	for name, values := range h {
		key, ok := strings.CutPrefix(name, textproto.CanonicalMIMEHeaderKey("X-Metadata-"))
		if !ok || len(values) == 0 {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[strings.ToLower(key)] = values[0]
		size += len(key) + len(values[0])
	}
	if size > 4096 {
		return nil, errors.New("the metadata has more than 4096 bytes")
	}
	return all, nil
}

// storeParts writes the parts named "file" of a form.
func (d *daemon) storeParts(to, user string, body io.Reader, boundary string, meta map[string]string) ([]written, *problem) {
	var all []written
	form := multipart.NewReader(body, boundary)
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, refuse(http.StatusInternalServerError, "error reading form: %v", err)
		}
		if part.FormName() != "file" {
			continue
		}
		name := to
		if name == "" {
			// Its own FileName would take the directory away.
			_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
			if err != nil || params["filename"] == "" {
				return nil, refuse(http.StatusBadRequest, "a part has no filename")
			}
			name = params["filename"]
		}
		one, p := d.store(absolute(name, user), user, part, meta)
		if p != nil {
			return nil, p
		}
		all = append(all, one)
	}
}

// store writes one file for a user: in place, with the mode of a file that is there.
func (d *daemon) store(name, user string, body io.Reader, meta map[string]string) (written, *problem) {
	if d.isDir(name) {
		return written{}, refuse(http.StatusBadRequest, "path is a directory: %s", name)
	}
	err := d.parents(path.Dir(name), user)
	var f *os.File
	if err == nil {
		f, err = d.machine.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	}
	if err == nil {
		defer f.Close()
		if err = f.Chown(idOf(user), idOf(user)); err == nil {
			_, err = io.Copy(f, body)
		}
	}
	if err == nil && !older(d.version, "0.6.2") {
		err = setMetadata(f, meta)
	}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return written{}, refuse(http.StatusInsufficientStorage, "not enough disk space available")
	case err != nil:
		return written{}, refuse(http.StatusInternalServerError, "error writing file: %v", err)
	}
	return written{Name: path.Base(name), Path: name, Type: "file", Metadata: meta}, nil
}

// compose is POST /files/compose: files become one, and are removed.
func (d *daemon) compose(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Sources     []string `json:"source_paths"`
		Destination string   `json:"destination"`
		User        string   `json:"username"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		fault(w, http.StatusBadRequest, "%v", err)
		return
	}
	user, ok := d.fileUser(w, body.User)
	if !ok {
		return
	}
	var parts []io.Reader
	for _, source := range body.Sources {
		f, err := d.machine.Open(absolute(source, user))
		if err != nil {
			fault(w, http.StatusNotFound, "path '%s' does not exist", source)
			return
		}
		defer f.Close()
		parts = append(parts, f)
	}
	one, p := d.store(absolute(body.Destination, user), user, io.MultiReader(parts...), nil)
	if p != nil {
		fault(w, p.status, "%s", p.message)
		return
	}
	for _, source := range body.Sources {
		if err := d.machine.Within(absolute(source, user), os.Remove); err != nil {
			fault(w, http.StatusInternalServerError, "error removing %s: %v", source, err)
			return
		}
	}
	plain(w, one)
}

// metrics is GET /metrics: what this host has.
func (d *daemon) metrics(w http.ResponseWriter, _ *http.Request) {
	var info syscall.Sysinfo_t
	var disk syscall.Statfs_t
	if err := errors.Join(syscall.Sysinfo(&info), syscall.Statfs("/", &disk)); err != nil {
		fault(w, http.StatusInternalServerError, "%v", err)
		return
	}
	total := uint64(info.Totalram) * uint64(info.Unit)
	used := total - uint64(info.Freeram)*uint64(info.Unit)
	plain(w, map[string]any{
		"ts": time.Now().Unix(), "cpu_count": 2, "cpu_used_pct": 1.5, "mem_total": total, "mem_used": used, "mem_cache": uint64(info.Bufferram) * uint64(info.Unit),
		"mem_total_mib": total >> 20, "mem_used_mib": used >> 20,
		"disk_used": (disk.Blocks - disk.Bfree) * uint64(disk.Bsize), "disk_total": disk.Blocks * uint64(disk.Bsize),
	})
}
