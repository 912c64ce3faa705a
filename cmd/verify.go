package cmd

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/yudai-dev/yudai/bundle"
)

func newVerify(s streams) *cobra.Command {
	v := &verification{streams: s}
	c := &cobra.Command{
		Use: "verify BUNDLE.tar", Short: "Check the signed bundle of a solve, offline",
		Long: "Check the signature of a bundle and every file in it against the signed statement, offline.\n" +
			"With --decision, recompute the champion from the bundle's record, too, and compare byte for byte.\n" +
			"Exit 0 if all is as it was signed, 1 if something differs, 2 if it cannot be read. `yudai solve`\n" +
			"writes bundles; a server exports them at GET /solve/{id}/bundle.",
		Args: wants(1, "one bundle"),
		RunE: func(_ *cobra.Command, args []string) error { return v.run(args[0]) },
	}
	v.keyFlag(c.Flags())
	c.Flags().BoolVar(&v.decision, "decision", false, "recompute the champion")
	return c
}

// verification is one `yudai verify`.
type verification struct {
	streams
	key      string // file
	decision bool
}

func (v *verification) keyFlag(f *pflag.FlagSet) {
	f.StringVar(&v.key, "key", "", "a `file` with a public key: accept only what it signed (\"yudai doctor\" names the server's key)")
}

func (v *verification) run(path string) error {
	b, err := v.read(path, nil)
	if err != nil || !v.decision {
		return err
	}
	return v.decide(b)
}

// read reads a bundle with the files that keep wants, checks it and prints what it says.
func (v *verification) read(path string, keep func(name string) bool) (*bundle.Bundle, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usage(fmt.Errorf("read the bundle: %w", err))
	}
	defer f.Close()
	b, err := bundle.ReadWith(f, keep)
	if err != nil {
		return nil, usage(fmt.Errorf("%s cannot be read as a bundle: %w", path, err))
	}
	key, whose := b.Key, "which came with the bundle; --key FILE checks whose it is"
	if v.key != "" {
		data, err := os.ReadFile(v.key)
		if err == nil {
			key, err = bundle.ParsePublicKey(data)
		}
		if err != nil {
			return nil, usage(fmt.Errorf("--key: %s: %w", v.key, err))
		}
		whose = "which is " + v.key
	}
	if err := b.Verify(key); err != nil {
		return nil, err
	}
	v.tell(b, whose)
	return b, nil
}

// tell prints what a bundle says.
func (v *verification) tell(b *bundle.Bundle, whose string) {
	p := b.Statement.Predicate
	fmt.Fprintf(v.out, "solve:      %q of %q, issue %d, decided by yudai %q\n", p.Solve, p.Repository, p.Issue.Number, p.Yudai)
	fmt.Fprintf(v.out, "signed:     %s by the key %s, %s\n", p.Signed.Format("2006-01-02 15:04:05 MST"), b.KeyID, whose)
	before := "the first of its installation"
	if p.Chain.Previous != "" {
		before = fmt.Sprintf("after %q", p.Chain.Previous)
	}
	fmt.Fprintf(v.out, "statement:  number %d, %s; its own digest is %s\n", p.Chain.Number, before, b.Digest())
	fmt.Fprintf(v.out, "files:      %d, as they were signed\n", len(p.Blobs))
}

func (v *verification) decide(b *bundle.Bundle) error {
	d, err := b.Decide()
	if errors.Is(err, bundle.ErrRecord) {
		return usage(err)
	}
	if err != nil {
		if signed := b.Statement.Predicate.Yudai; signed != "" {
			err = fmt.Errorf("%w\nit was decided by yudai %q; another version may have another rule", err, signed)
		}
		return err
	}
	champion := fmt.Sprintf("run %d", d.Champion)
	if d.Champion == 0 {
		champion = "none"
	}
	fmt.Fprintf(v.out, "champion:   %s, recomputed from the record and the same\n", champion)
	return nil
}
