package ghapp

import (
	"context"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// maxInline is the largest file that travels inside a tree; a larger one gets a
// blob of its own.
const maxInline = 512 << 10

// championTree is the champion's tree: the one that was judged, or none.
func (t *writeTry) championTree(ctx context.Context) (string, error) {
	tree, err := t.treeOf(ctx, "tree", t.commit.Files)
	if err == nil && t.commit.Tree != "" && tree != t.commit.Tree {
		err = permanent("GitHub made the tree %s of the champion's files, not %s, which was judged", tree, t.commit.Tree)
	}
	return tree, err
}

// treeOf makes the base's tree with these files through the Git Data API: it keeps file
// modes and needs no git credentials anywhere.
func (t *writeTry) treeOf(ctx context.Context, name string, files []solve.CommitFile) (string, error) {
	base, err := t.commitOf(ctx, t.commit.BaseSHA)
	if err != nil {
		return "", err
	}
	var entries []*github.TreeEntry
	for _, f := range files {
		entry, err := t.treeEntry(ctx, f)
		if err != nil {
			return "", err
		}
		entries = append(entries, entry)
	}
	repo := t.e.Repo
	return t.object(ctx, name, "tree", func(ctx context.Context, c *github.Client) (string, error) {
		tree, _, err := c.Git.CreateTree(ctx, repo.Owner, repo.Name, base.GetTree().GetSHA(), entries)
		return tree.GetSHA(), err
	})
}

// treeEntry puts text into the tree itself and makes a blob of everything that
// JSON would not carry as it is.
func (t *writeTry) treeEntry(ctx context.Context, f solve.CommitFile) (*github.TreeEntry, error) {
	entry := &github.TreeEntry{Path: &f.Path, Mode: &f.Mode, Type: github.String("blob")}
	if f.Mode == "" {
		entry.Mode = github.String("100644")
	}
	if f.Delete {
		return entry, nil // neither content nor SHA
	}
	text := string(f.Data)
	if len(text) > 0 && len(text) <= maxInline && utf8.ValidString(text) && !strings.Contains(text, "\x00") {
		entry.Content = &text
		return entry, nil
	}
	repo := t.e.Repo
	sha, err := t.object(ctx, "blob "+f.Path, "blob", func(ctx context.Context, c *github.Client) (string, error) {
		blob, _, err := c.Git.CreateBlob(ctx, repo.Owner, repo.Name, &github.Blob{
			Content: github.String(base64.StdEncoding.EncodeToString(f.Data)), Encoding: github.String("base64"),
		})
		return blob.GetSHA(), err
	})
	if err != nil {
		return nil, err
	}
	entry.SHA = &sha
	return entry, nil
}
