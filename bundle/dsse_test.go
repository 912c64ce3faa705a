package bundle_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"

	"github.com/yudai-dev/yudai/bundle"
)

// TestPreAuthEncodingIsTheReferences compares with the reference implementation, and with the example of the specification.
func TestPreAuthEncodingIsTheReferences(t *testing.T) {
	t.Parallel()
	for kind, payload := range map[string]string{
		"": "", "http://example.com/HelloWorld": "hello world", "application/vnd.in-toto+json": "{\"a\": \"ü\n\x00\"}",
	} {
		got, want := bundle.PreAuthEncoding(kind, []byte(payload)), dsse.PAE(kind, []byte(payload))
		if !bytes.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	got := string(bundle.PreAuthEncoding("http://example.com/HelloWorld", []byte("hello world")))
	if want := "DSSEv1 29 http://example.com/HelloWorld 11 hello world"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// plainVerifier is a third party's view of a key.
type plainVerifier struct{ key ed25519.PublicKey }

func (v plainVerifier) Verify(_ context.Context, data, sig []byte) error {
	if !ed25519.Verify(v.key, data, sig) {
		return errors.New("wrong")
	}
	return nil
}
func (v plainVerifier) KeyID() (string, error)   { return bundle.KeyID(v.key), nil }
func (v plainVerifier) Public() crypto.PublicKey { return v.key }

// TestOthersCanVerifyTheStatement: the reference implementation accepts the envelope, and the payload is an in-toto statement.
func TestOthersCanVerifyTheStatement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	entries := unpack(t, w.bundled(w.decided("one")))
	key, err := bundle.ParsePublicKey(entries[1].data)
	w.ok(err)
	var e dsse.Envelope
	w.ok(json.Unmarshal(entries[0].data, &e))
	v, err := dsse.NewEnvelopeVerifier(plainVerifier{key})
	w.ok(err)
	if _, err := v.Verify(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
	payload, err := e.DecodeB64Payload()
	w.ok(err)
	var st struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Subject       []struct{ Digest map[string]string }
	}
	w.ok(json.Unmarshal(payload, &st))
	if st.Type != "https://in-toto.io/Statement/v1" || st.PredicateType != bundle.PredicateType || len(st.Subject) != 2 {
		t.Errorf("%+v", st)
	}
	if st.Subject[1].Digest["sha256"] != sum("a larger patch\n") {
		t.Errorf("the second subject is not the champion's patch: %v", st.Subject)
	}
}

// entry is one file of an archive.
type entry struct {
	name string
	data []byte
}

func unpack(t *testing.T, data []byte) (out []entry) {
	t.Helper()
	in := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, entry{h.Name, text})
	}
}

func pack(t *testing.T, entries []entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	out := tar.NewWriter(&buf)
	for _, e := range entries {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.data)), Mode: 0o644, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
