package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
	"time"
)

// Names in a bundle.
const (
	statementName = "statement.dsse.json"
	keyName       = "key.pub"
	blobFolder    = "blobs/sha256/"
)

// Limits of a bundle, in bytes.
const (
	maxBundle    = 1 << 30
	maxStatement = 64 << 20
	maxKey       = 4 << 10
	maxRecord    = 256 << 20
)

func total(blobs []Blob) (sum int64) {
	for _, b := range blobs {
		sum += b.Size
	}
	return sum
}

// contents are the blobs by digest, each once.
func contents(blobs []Blob) []Blob {
	out := slices.Clone(blobs)
	slices.SortStableFunc(out, func(a, b Blob) int { return strings.Compare(a.SHA256, b.SHA256) })
	return slices.CompactFunc(out, func(a, b Blob) bool { return a.SHA256 == b.SHA256 })
}

// header is that of every entry: nothing but name and size differs, so one content has one archive.
func header(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
}

// writeArchive writes the statement, the key, and the blobs sorted by digest.
func writeArchive(w io.Writer, statement, key []byte, blobs []Blob, open func(Blob) ([]byte, error)) error {
	out := tar.NewWriter(w)
	put := func(name string, data []byte) error {
		if err := out.WriteHeader(header(name, int64(len(data)))); err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
		if _, err := out.Write(data); err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
		return nil
	}
	if err := errors.Join(put(statementName, statement), put(keyName, key)); err != nil {
		return err
	}
	for _, b := range contents(blobs) {
		data, err := open(b)
		if err == nil {
			err = put(blobFolder+b.SHA256, data)
		}
		if err != nil {
			return err
		}
	}
	return out.Close()
}

// Bundle is a bundle as it was read. Nothing of it is checked but its form.
type Bundle struct {
	Statement Statement
	// Key is the public key that came with it, and KeyID its name.
	Key   ed25519.PublicKey
	KeyID string

	sealed sealed
	keep   func(name string) bool
	kept   map[string][]byte // the record and what keep wants, by digest
	wrong  []error           // blobs that are not what the statement says
}

// Read reads a bundle. An error says that it is none, or was damaged so that it cannot be
// read; what [Bundle.Verify] finds is another matter. However large the file is, what stays in
// memory is the statement and the record.
func Read(r io.Reader) (*Bundle, error) { return ReadWith(r, nil) }

// ReadWith is [Read] that keeps the files whose names keep wants: see [Bundle.File].
func ReadWith(r io.Reader, keep func(name string) bool) (*Bundle, error) {
	return read(r, 2*maxBundle, keep)
}

func read(r io.Reader, limit int64, keep func(name string) bool) (*Bundle, error) {
	a := newArchiveReader(&boundedReader{r, limit, limit})
	b := &Bundle{keep: keep, kept: map[string][]byte{}}
	data, err := a.small(statementName, maxStatement)
	if err != nil {
		return nil, err
	}
	if b.sealed, err = unseal(data); err != nil {
		return nil, err
	}
	if data, err = a.small(keyName, maxKey); err != nil {
		return nil, err
	}
	if b.Key, err = ParsePublicKey(data); err != nil {
		return nil, err
	}
	if !bytes.Equal(encodePublicKey(b.Key), data) {
		return nil, fmt.Errorf("read %s: it is not written as yudai writes keys", keyName)
	}
	b.Statement, b.KeyID = b.sealed.statement, KeyID(b.Key)
	if err := b.readBlobs(a); err != nil {
		return nil, err
	}
	return b, a.finish()
}

// File is a file that [ReadWith] kept, as it was signed; false if there is none.
func (b *Bundle) File(name string) ([]byte, bool) {
	blob, _ := b.Statement.Predicate.blob(name)
	data, ok := b.kept[blob.SHA256]
	return data, ok
}

// wanted are the digests of the files that stay in memory.
func (b *Bundle) wanted() map[string]bool {
	p, out := b.Statement.Predicate, map[string]bool{}
	for _, blob := range p.Blobs {
		if blob.Name == p.Record || b.keep != nil && b.keep(blob.Name) {
			out[blob.SHA256] = true
		}
	}
	return out
}

// readBlobs reads what the statement names, in the order in which it was written.
func (b *Bundle) readBlobs(a *archiveReader) error {
	p, wanted := b.Statement.Predicate, b.wanted()
	h, err := a.next()
	for _, want := range contents(p.Blobs) {
		if err != nil {
			break
		}
		if h == nil || h.Name != blobFolder+want.SHA256 {
			b.wrong = append(b.wrong, fmt.Errorf("%s is missing: the bundle has no blob %s", want.Name, want.SHA256))
			continue
		}
		limit, keep := int64(maxBundle), io.Discard
		var text bytes.Buffer
		if wanted[want.SHA256] {
			limit, keep = maxRecord, &text
		}
		sum, err := a.copy(h, limit, keep)
		if err != nil {
			return err
		}
		if sum != want.SHA256 || h.Size != want.Size {
			b.wrong = append(b.wrong, fmt.Errorf("%s was changed: its digest is %s, the statement says %s", want.Name, sum, want.SHA256))
		} else if keep != io.Discard {
			b.kept[sum] = text.Bytes()
		}
		if h, err = a.next(); err != nil {
			return err
		}
	}
	if err == nil && h != nil {
		err = fmt.Errorf("read bundle: the statement names no entry %.100q", h.Name)
	}
	return err
}

// archiveReader reads a tar file, and writes it again beside that: at the end both must be the
// same, so no byte of a bundle can differ without being noticed.
type archiveReader struct {
	raw             io.Reader
	in              *tar.Reader
	again           *tar.Writer
	seen, rewritten hash.Hash
}

func newArchiveReader(r io.Reader) *archiveReader {
	a := &archiveReader{seen: sha256.New(), rewritten: sha256.New()}
	a.raw = io.TeeReader(r, a.seen)
	a.in, a.again = tar.NewReader(a.raw), tar.NewWriter(a.rewritten)
	return a
}

// next is the next entry, nil at the end.
func (a *archiveReader) next() (*tar.Header, error) {
	h, err := a.in.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read bundle: %w", err)
	}
	if h.Typeflag != tar.TypeReg || h.Format != tar.FormatUSTAR || h.Size < 0 { // others may hold more than their bytes
		return nil, fmt.Errorf("read bundle: %.100q is no plain file as yudai writes it", h.Name)
	}
	return h, nil
}

// copy reads the entry and returns its SHA-256.
func (a *archiveReader) copy(h *tar.Header, limit int64, w io.Writer) (string, error) {
	if h.Size > limit {
		return "", fmt.Errorf("read bundle: %.100q has %d bytes; %d are the most", h.Name, h.Size, limit)
	}
	if err := a.again.WriteHeader(header(h.Name, h.Size)); err != nil {
		return "", fmt.Errorf("read bundle: %w", err)
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, a.again, w), a.in); err != nil {
		return "", fmt.Errorf("read bundle: %.100q: %w", h.Name, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// small reads the entry that must come next.
func (a *archiveReader) small(name string, limit int64) ([]byte, error) {
	h, err := a.next()
	if err != nil {
		return nil, err
	}
	if h == nil || h.Name != name {
		return nil, fmt.Errorf("read bundle: it has no %s where one must be", name)
	}
	var data bytes.Buffer
	_, err = a.copy(h, limit, &data)
	return data.Bytes(), err
}

func (a *archiveReader) finish() error {
	if _, err := io.Copy(io.Discard, a.raw); err != nil {
		return fmt.Errorf("read bundle: %w", err)
	}
	if err := a.again.Close(); err != nil {
		return fmt.Errorf("read bundle: %w", err)
	}
	if !bytes.Equal(a.seen.Sum(nil), a.rewritten.Sum(nil)) {
		return errors.New("read bundle: it holds bytes that yudai does not write, outside of its files")
	}
	return nil
}

// boundedReader fails after so many bytes, instead of ending.
type boundedReader struct {
	r           io.Reader
	limit, left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it is larger than %d bytes", b.limit)
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
