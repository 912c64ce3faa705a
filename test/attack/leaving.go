package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/bundle"
)

// token is what an installation's token looks like, of both forms.
var token = regexp.MustCompile(`ghs_([A-Za-z0-9]{36}|[0-9]+_[\w-]+\.[\w-]+\.[\w-]+)`)

// leaks looks for canaries in everything that leaves the program, and names what it found.
func (w *world) leaks(ctx context.Context) []string {
	var all []string
	look := func(where string, data []byte, except ...string) {
		for _, name := range w.canaries.in(data) {
			if !slices.Contains(except, name) {
				all = append(all, where+" holds the "+name)
			}
		}
	}
	look("the log", []byte(w.proc.Log.String()))
	look("a command line", w.watch.text())
	for _, r := range w.hub.History() {
		look("a request to GitHub ("+r.Method+" "+r.Path+")", r.Body)
	}
	for _, repo := range []string{"project", "other"} {
		dir := w.path("github", owner, repo+".git")
		out, err := exec.CommandContext(ctx, "git", "-C", dir, "cat-file", "--batch-all-objects", "--batch", "--unordered").Output()
		if err != nil {
			all = append(all, fmt.Sprintf("the objects of %s cannot be read: %v", repo, err))
		}
		if repo == "other" {
			look("git objects of "+repo, out, "other repository")
		} else {
			look("git objects of "+repo, out)
		}
	}
	if code, body, err := w.get(ctx, "/metrics"); err != nil || code != http.StatusOK {
		all = append(all, fmt.Sprintf("/metrics cannot be read: %d %v", code, err))
	} else {
		look("/metrics", []byte(body))
	}
	all = append(all, w.provider.noted()...)
	all = append(all, w.waysOut(ctx, look)...)
	return append(all, w.leaksOnDisk(look)...)
}

// leaksOnDisk looks into transcripts, patches, test output, bundles and sandboxes.
func (w *world) leaksOnDisk(look func(string, []byte, ...string)) (problems []string) {
	for _, dir := range []string{w.path("store"), w.path("sandboxes"), w.path("gateway"), w.path("records")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || d.Name() == bundle.KeyFile {
				return nil //nolint:nilerr // what hostile scripts left may be unreadable or gone
			}
			if info, err := d.Info(); err != nil || info.Size() > 64<<20 {
				return nil //nolint:nilerr // it is gone
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return nil //nolint:nilerr // it is gone
			}
			short := strings.TrimPrefix(path, w.dir)
			// The other repository itself may be in its own mirror, the store and its own solves.
			look(short, data, allowedToShow()...)
			return nil
		})
		if err != nil {
			problems = append(problems, err.Error())
		}
	}
	return problems
}

// get asks the program without any token.
func (w *world) get(ctx context.Context, path string) (status int, body string, err error) {
	return w.request(ctx, http.MethodGet, path, nil, "")
}
