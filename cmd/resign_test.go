package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/yudai-dev/yudai/bundle"
	"github.com/yudai-dev/yudai/solve"
)

// resign BUNDLE OUT NAME OLD NEW is an operator who has another content signed: the file that
// begins with NAME has NEW in place of OLD. Without NEW it is left out. The NAME record is the record.
func resign(ts *testscript.TestScript, _ bool, args []string) {
	b, err := bundle.ReadWith(strings.NewReader(ts.ReadFile(args[0])), func(string) bool { return true })
	ts.Check(err)
	rec, err := b.Record()
	ts.Check(err)
	if args[2] == "record" {
		text, err := json.Marshal(rec)
		ts.Check(err)
		if !bytes.Contains(text, []byte(args[3])) {
			ts.Fatalf("the record does not contain %q: %s", args[3], text)
		}
		ts.Check(json.Unmarshal(bytes.ReplaceAll(text, []byte(args[3]), []byte(args[4])), &rec))
	}
	store, names := artifacts{}, []string{}
	for _, blob := range b.Statement.Predicate.Blobs {
		if args[2] == "record" && strings.HasPrefix(blob.Name, "record-") {
			continue // the new one is made of rec
		}
		data, _ := b.File(blob.Name)
		if names = append(names, blob.Name); strings.HasPrefix(blob.Name, args[2]) {
			if len(args) < 5 {
				continue
			}
			if !bytes.Contains(data, []byte(args[3])) {
				ts.Fatalf("%s does not contain %q: %s", blob.Name, args[3], data)
			}
			data = bytes.ReplaceAll(data, []byte(args[3]), []byte(args[4]))
		}
		store[blob.Name] = data
	}
	ctx := context.Background()
	signer, err := bundle.New(ctx, filepath.Join(ts.MkAbs("."), "keys-of-"+args[1]), store, "test")
	ts.Check(err)
	ts.Check(signer.Sign(ctx, rec, names...))
	write, err := signer.Export(ctx, rec.Solve.ID)
	ts.Check(err)
	var out bytes.Buffer
	ts.Check(write(&out))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), out.Bytes(), 0o600))
}

// artifacts are the files of a bundle, as a store.
type artifacts map[string][]byte

func (a artifacts) PutArtifact(_ context.Context, _ solve.ID, name string, data []byte) error {
	a[name] = data
	return nil
}

func (a artifacts) Artifact(_ context.Context, _ solve.ID, name string) ([]byte, error) {
	data, ok := a[name]
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, solve.ErrNotFound)
	}
	return data, nil
}

func (a artifacts) Transcript(context.Context, solve.ID, int) ([]byte, error) {
	return nil, solve.ErrNotFound
}
