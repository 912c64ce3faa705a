package swerex

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"path"
	"strings"
	"time"
)

// The most that an archive may hold: files, and bytes as a multiple of the largest request.
const (
	mostFiles    = 20_000
	mostUnpacked = 4
)

// upload serves /upload: a file, or a directory as a zip archive.
func (s *Server) upload(r *http.Request, body []byte) (any, error) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, invalid("file", required)
	}
	fields, err := readParts(parts)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"file", "target_path"} {
		if _, ok := fields[name]; !ok {
			return nil, invalid(name, required)
		}
	}
	unzip, err := truth(string(fields["unzip"]))
	if err != nil {
		return nil, err
	}
	target, data := string(fields["target_path"]), fields["file"]
	if err := noZeros(target); err != nil {
		return nil, err
	}
	if !unzip {
		return nothing{}, s.put(target, s.paths.content(target, data))
	}
	return nothing{}, s.unpack(target, data)
}

// readParts reads the fields; the whole body is already within its limit.
func readParts(parts *multipart.Reader) (map[string][]byte, error) {
	fields := make(map[string][]byte)
	for {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return fields, nil
		}
		if err != nil {
			return nil, invalid("", "There was an error parsing the body")
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return nil, invalid("", "There was an error parsing the body")
		}
		fields[p.FormName()] = data
	}
}

// truth reads a boolean of a form.
func truth(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "", "0", "off", "f", "false", "n", "no":
		return false, nil
	case "1", "on", "t", "true", "y", "yes":
		return true, nil
	}
	return false, invalid("unzip", "Input should be a valid boolean, unable to interpret input")
}

// unpack writes the files of a zip archive below a directory.
func (s *Server) unpack(target string, data []byte) error {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return raise(classZip, "File is not a zip file")
	}
	if len(archive.File) > mostFiles {
		return raise(classOS, fmt.Sprintf("the archive has more than %d files", mostFiles))
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	left := mostUnpacked * s.options.Body
	for _, f := range archive.File {
		if err := s.repack(w, target, f, &left); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("pack upload: %w", err)
	}
	ran, err := s.script(unpackScript, s.paths.text(target), &out, 1<<16)
	if err != nil {
		return err
	}
	if ran.ExitCode != 0 {
		return raise(classOS, repr(target)+": "+strings.TrimSpace(string(ran.Stderr)))
	}
	return nil
}

// repack adds one file of the archive, as Python unpacks it: whatever its name, it stays
// below the directory, and its mode is an ordinary one.
func (s *Server) repack(w *tar.Writer, target string, f *zip.File, left *int64) error {
	name := strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(f.Name, "\\", "/")), "/")
	h := &tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg, ModTime: time.Now()}
	if strings.HasSuffix(f.Name, "/") {
		h.Name, h.Mode, h.Typeflag = name+"/", 0o755, tar.TypeDir
	}
	if name == "" {
		return nil
	}
	var data []byte
	if h.Typeflag == tar.TypeReg {
		in, err := f.Open()
		if err != nil {
			return raise(classZip, "Bad file "+repr(f.Name))
		}
		data, err = io.ReadAll(io.LimitReader(in, *left+1))
		_ = in.Close()
		if err != nil {
			return raise(classZip, "Bad CRC-32 for file "+repr(f.Name))
		}
		if *left -= int64(len(data)); *left < 0 {
			return raise(classOS, fmt.Sprintf("the archive holds more than %d bytes", mostUnpacked*s.options.Body))
		}
		data = s.paths.content(target, data)
		h.Size = int64(len(data))
	}
	if err := w.WriteHeader(h); err != nil {
		return raise(classOS, repr(f.Name)+": "+err.Error())
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("pack upload: %w", err)
	}
	return nil
}
