package bundle_test

import (
	"archive/tar"
	"bytes"
	"crypto/ed25519"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/solve"
)

// accepted says whether somebody with the key would accept a bundle.
func accepted(data []byte, key ed25519.PublicKey) error {
	b, err := bundle.Read(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return b.Verify(key)
}

func TestBundleIsAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := w.bundled(w.decided("one"))
	b := w.read(data)
	w.ok(b.Verify(b.Key))
	d, err := b.Decide()
	w.ok(err)
	p := b.Statement.Predicate
	if d.Champion != 2 || p.Yudai != "1.0" || p.Candidates[0].Experiment.Record != 60 || p.Candidates[1].Verdict.Fixed != 1 {
		t.Errorf("champion %d of %+v", d.Champion, p)
	}
	if again := w.exported("one"); !bytes.Equal(again, data) {
		t.Error("the same bundle was exported with other bytes")
	}
}

// TestEveryBitCounts: there is no part of a bundle that can be changed unnoticed, the archive's own bytes included.
func TestEveryBitCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := w.bundled(w.decided("one"))
	key := w.read(data).Key
	for i := 0; i < len(data); i += 7 {
		for _, bit := range []byte{1, 0x20} { // 0x20 changes a letter's case
			data[i] ^= bit
			if err := accepted(data, key); err == nil {
				t.Fatalf("bit %#x of byte %d was flipped, and the bundle was accepted", bit, i)
			}
			data[i] ^= bit
		}
	}
	w.ok(accepted(data, key))
}

// TestChangedPartsAreRefused: what is changed by somebody who writes proper archives is named.
func TestChangedPartsAreRefused(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	mine, theirs := unpack(t, w.bundled(w.decided("one"))), unpack(t, other.bundled(other.decided("one")))
	key := w.read(pack(t, mine)).Key
	log := slices.IndexFunc(mine, func(e entry) bool { return string(e.data) == "ok\n" })
	with := func(i int, e entry) []entry {
		out := slices.Clone(mine)
		out[i] = e
		return out
	}
	for name, c := range map[string]struct {
		entries []entry
		want    string
	}{
		"another log":       {with(log, entry{mine[log].name, []byte("no\n")}), "tests.log was changed"},
		"a longer log":      {with(log, entry{mine[log].name, []byte("ok\nok\n")}), "tests.log was changed"},
		"a missing blob":    {slices.Delete(slices.Clone(mine), log, log+1), "tests.log is missing"},
		"no blobs":          {mine[:2], "is missing"},
		"another key":       {with(1, theirs[1]), "the key in the bundle is"},
		"another statement": {with(0, theirs[0]), "the statement names the key"},
		"another's bundle":  {theirs, "the statement names the key"},
		"one entry more":    {append(slices.Clone(mine), entry{"extra", nil}), `names no entry "extra"`},
		"a blob twice":      {append(slices.Clone(mine), mine[len(mine)-1]), "names no entry"},
		"another order":     {append([]entry{mine[1], mine[0]}, mine[2:]...), "no statement.dsse.json"},
		"no statement":      {mine[1:], "no statement.dsse.json"},
		"nothing":           {nil, "no statement.dsse.json"},
	} {
		if err := accepted(pack(t, c.entries), key); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestEnvelopeHasOneForm: what the signature does not cover is written in one way.
func TestEnvelopeHasOneForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	entries := unpack(t, w.bundled(w.decided("one")))
	key, text := w.read(pack(t, entries)).Key, string(entries[0].data)
	for old, changed := range map[string]string{
		`"payload"`: `"Payload"`, `"keyid"`: `"keyId"`, `"signatures":[`: `"signatures": [`, `{"payloadType"`: `{"more":1,"payloadType"`,
		`}]}`: `},{"keyid":"","sig":""}]}`, `vnd.in-toto`: `vnd.in\u002dtoto`,
	} {
		entries[0].data = []byte(strings.Replace(text, old, changed, 1))
		if string(entries[0].data) == text {
			t.Fatalf("there is no %s", old)
		}
		if err := accepted(pack(t, entries), key); err == nil || !strings.Contains(err.Error(), "read envelope: ") {
			t.Errorf("%s as %s: %v", old, changed, err)
		}
	}
}

// TestSignatureIsTheKeys: a statement that was changed is refused, whoever's name stands in it.
func TestSignatureIsTheKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	entries := unpack(t, w.bundled(w.decided("one")))
	key := w.read(pack(t, entries)).Key
	at := bytes.Index(entries[0].data, []byte(`"sig":"`)) + len(`"sig":"`)
	digit := byte('A') // another digit of the signature
	if entries[0].data[at] == digit {
		digit = 'B'
	}
	entries[0].data[at] = digit
	if err := accepted(pack(t, entries), key); err == nil || !strings.Contains(err.Error(), "the signature is wrong") {
		t.Errorf("%v", err)
	}
}

// TestOtherDecisionsDiffer: a decision that does not follow from the record is told, though the signature is right.
func TestOtherDecisionsDiffer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*solve.Decision)
		want   string
	}{
		"another champion": {func(d *solve.Decision) { d.Champion = 1 }, "the signed champion is run 1, recomputed it is run 2"},
		"another ranking":  {func(d *solve.Decision) { slices.Reverse(d.Ranking) }, "not the recomputed one byte for byte"},
		"another reason":   {func(d *solve.Decision) { d.Comparisons[0].Text = "because" }, "not the recomputed one byte for byte"},
		"a forged pick":    {func(d *solve.Decision) { d.PickedBy = "kim" }, "not the recomputed one byte for byte"},
	} {
		w := newWorld(t)
		rec := w.decided("one")
		c.change(rec.Solve.Decision)
		b := w.read(w.bundled(rec))
		w.ok(b.Verify(b.Key))
		if _, err := b.Decide(); err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, bundle.ErrRecord) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestRecordThatCannotBeRead is another matter than one that differs.
func TestRecordThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rec := w.decided("one")
	rec.V = 99
	b := w.read(w.bundled(rec))
	if _, err := b.Decide(); !errors.Is(err, bundle.ErrRecord) {
		t.Errorf("%v", err)
	}
}

// TestHostileArchives: reading is bounded by the bytes that are there, whatever a header promises.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.bundled(w.decided("one"))
	const unplain = "is no plain file"
	for name, c := range map[string]struct {
		data io.Reader
		want string
	}{
		"empty":            {strings.NewReader(""), "no statement.dsse.json"},
		"no archive":       {strings.NewReader(strings.Repeat("x", 4096)), "invalid tar header"},
		"cut":              {bytes.NewReader(good[:len(good)/2]), "unexpected EOF"},
		"zeros behind":     {io.MultiReader(bytes.NewReader(good), bytes.NewReader(make([]byte, 1024))), "bytes that yudai does not write"},
		"a huge statement": {bytes.NewReader(headerOf(t, bundle.StatementName, 1<<32)), "are the most"},
		"a sparse file":    {bytes.NewReader(sparse(t)), unplain},
		"a link":           {bytes.NewReader(linkOf(t)), unplain},
	} {
		if _, err := bundle.Read(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestReadingEnds: a stream without an end is given up.
func TestReadingEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.bundled(w.decided("one"))
	_, err := bundle.ReadAtMost(io.MultiReader(bytes.NewReader(good), zeros{}), 1<<20)
	if err == nil || !strings.Contains(err.Error(), "it is larger than 1048576 bytes") {
		t.Errorf("%v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func headerOf(t *testing.T, name string, size int64) []byte {
	t.Helper()
	var buf bytes.Buffer
	out := tar.NewWriter(&buf)
	if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, Format: tar.FormatUSTAR}); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// sparse promises a statement of 60 MB in no bytes at all, as package tar reads it.
func sparse(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	out := tar.NewWriter(&buf)
	h := &tar.Header{Typeflag: tar.TypeReg, Name: bundle.StatementName, Mode: 0o644, Format: tar.FormatPAX, Size: 512}
	h.PAXRecords = map[string]string{
		"XNU.sparse.major": "1", "XNU.sparse.minor": "0", "XNU.sparse.name": bundle.StatementName, "XNU.sparse.realsize": "60000000",
	}
	err := out.WriteHeader(h)
	_, failed := out.Write(append([]byte("0\n"), make([]byte, 510)...))
	if err := errors.Join(err, failed, out.Close()); err != nil {
		t.Fatal(err)
	}
	data := bytes.ReplaceAll(buf.Bytes(), []byte("XNU.sparse"), []byte("GNU.sparse")) // the writer refuses these names
	if h, err := tar.NewReader(bytes.NewReader(data)).Next(); err != nil || h.Size != 60000000 {
		t.Fatalf("it is not sparse: %v %v", h, err)
	}
	return data
}

func linkOf(t *testing.T) []byte {
	t.Helper()
	var buf bytes.Buffer
	out := tar.NewWriter(&buf)
	h := &tar.Header{Typeflag: tar.TypeSymlink, Name: bundle.StatementName, Linkname: "/etc/passwd", Format: tar.FormatUSTAR}
	if err := errors.Join(out.WriteHeader(h), out.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
