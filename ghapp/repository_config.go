package ghapp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// ownerRepo is where an owner keeps what holds for all of their repositories.
const ownerRepo = ".github"

// RepoConfig reads a repository's own settings at a commit, else its owner's from the
// default branch of their .github repository. name tells people which file it was.
// It is solve.ErrNotFound if there is neither, and solve.ErrTooLarge, unread, above
// [solve.MaxRepoConfig]. A directory is no file, a pointer elsewhere is not followed.
func (a *App) RepoConfig(ctx context.Context, repo solve.Repo, sha string) (name string, data []byte, err error) {
	data, err = a.content(ctx, readScope(repo), repo.Owner, repo.Name, solve.RepoConfigFile, sha)
	if !errors.Is(err, solve.ErrNotFound) || strings.EqualFold(repo.Name, ownerRepo) {
		return solve.RepoConfigFile, data, err
	}
	// A token that opens one repository would get 404 for every other, so this one reads
	// the files of all.
	file := path.Base(solve.RepoConfigFile)
	data, err = a.content(ctx, allReposScope(repo.Installation), repo.Owner, ownerRepo, file, "")
	return repo.Owner + "/" + ownerRepo + "/" + file, data, err
}

// content reads one small file.
func (a *App) content(ctx context.Context, s scope, owner, name, file, sha string) ([]byte, error) {
	var answer *github.RepositoryContent
	err := a.do(ctx, s, "read "+file, func(ctx context.Context, c *github.Client) (err error) {
		answer, _, _, err = c.Repositories.GetContents(ctx, owner, name, file, &github.RepositoryContentGetOptions{Ref: sha})
		return err
	})
	if statusOf(err) == http.StatusForbidden && s.all && !mentions(err, "suspended") {
		return nil, fmt.Errorf("read %s of %s/%s: not ours to read: %w", file, owner, name, solve.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	if answer == nil || answer.GetType() != "file" || answer.Target != nil {
		return nil, fmt.Errorf("read %s of %s/%s: no file: %w", file, owner, name, solve.ErrNotFound)
	}
	if answer.GetSize() > solve.MaxRepoConfig {
		return nil, fmt.Errorf("read %s of %s/%s: %d bytes: %w", file, owner, name, answer.GetSize(), solve.ErrTooLarge)
	}
	text, err := answer.GetContent()
	if err != nil {
		return nil, malformed("file")
	}
	return []byte(text), nil
}
