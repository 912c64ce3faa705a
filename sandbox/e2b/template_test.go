package e2b

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestParseDockerfile(t *testing.T) {
	t.Parallel()
	got, err := parseDockerfile(`# a comment
from debian:12

ENV A=1 B=two
RUN apt-get update \
    # a comment in the middle
    && apt-get install -y git
COPY --chown=user --chmod=0755 ./start.sh /opt/start.sh
WORKDIR /home/user
USER user
RUN echo as user
`)
	want := recipe{from: "debian:12", steps: []step{
		{Type: "ENV", Args: []string{"A", "1", "B", "two"}},
		{Type: "RUN", Args: []string{"apt-get update && apt-get install -y git", "root"}},
		{Type: "COPY", Args: []string{"start.sh", "/opt/start.sh", "user", "0755"}},
		{Type: "WORKDIR", Args: []string{"/home/user"}},
		{Type: "USER", Args: []string{"user"}},
		{Type: "RUN", Args: []string{"echo as user", "user"}},
	}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(recipe{})); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	for _, bad := range []string{
		"", "RUN true", "FROM", "FROM a AS b", "FROM a\nFROM b", "FROM a\nRUN [\"x\"]", "FROM a\nRUN --mount=x y", "FROM a\nRUN",
		"FROM a\nCOPY --from=x a /b", "FROM a\nCOPY a", "FROM a\nENV", "FROM a\nEXPOSE 80",
	} {
		if r, err := parseDockerfile(bad); err == nil {
			t.Errorf("%q is read as %+v", bad, r)
		}
	}
}

func FuzzParseDockerfile(f *testing.F) {
	f.Add("FROM a\nRUN x \\\n y\nCOPY --chmod=755 a /b\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseDockerfile(text)
		if err == nil && r.from == "" {
			t.Error("a recipe without an image")
		}
		for _, s := range r.steps {
			if len(s.Args) == 0 {
				t.Errorf("%+v has no arguments", s)
			}
		}
	})
}

// TestOurTemplate: the file that people build and the steps that the service gets
// are one; what is copied is what is here.
func TestOurTemplate(t *testing.T) {
	t.Parallel()
	r, archives, err := ourRecipe()
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]bool{}
	for _, s := range r.steps {
		if s.Type != "COPY" {
			continue
		}
		places[s.Args[1]] = true
		zip, err := gzip.NewReader(bytes.NewReader(archives[s.Hash]))
		if err != nil {
			t.Fatal(err)
		}
		in := tar.NewReader(zip)
		h, err := in.Next()
		if err != nil || h.Name != s.Args[0] || h.Mode != 0o755 {
			t.Errorf("%+v, %v", h, err)
		}
		content, err := io.ReadAll(in)
		if own, _ := templateFiles.ReadFile("template/" + s.Args[0]); err != nil || !bytes.Equal(content, own) {
			t.Errorf("%s is not what is packed, %v", s.Args[0], err)
		}
		if len(s.Hash) != 64 || strings.ToLower(s.Hash) != s.Hash {
			t.Errorf("hash %q", s.Hash)
		}
	}
	if !places[startCommand] || !places[readyCommand] {
		t.Errorf("the commands %s and %s are not copied: %v", startCommand, readyCommand, places)
	}
	last := r.steps[len(r.steps)-1]
	if last.Type != "USER" || !slices.Equal(last.Args, []string{plainUser}) {
		t.Errorf("the last step is %+v: sandboxes do not run as %s", last, plainUser)
	}
	for _, name := range []string{"start.sh", "ready.sh"} {
		if out, err := exec.CommandContext(t.Context(), "bash", "-n", "template/"+name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// TestHashFollowsContent: the service keeps uploads by it.
func TestHashFollowsContent(t *testing.T) {
	t.Parallel()
	hash := func(docker, content string) string {
		r, _, err := readRecipe(fstest.MapFS{"Dockerfile": {Data: []byte(docker)}, "f": {Data: []byte(content)}})
		if err != nil {
			t.Fatal(err)
		}
		return r.steps[0].Hash
	}
	const one = "FROM a\nCOPY f /f\n"
	first := hash(one, "1")
	if first != hash(one, "1") || first == hash(one, "2") || first == hash("FROM a\nCOPY --chmod=755 f /f\n", "1") {
		t.Error("the hash does not follow what is copied")
	}
	_, _, err := readRecipe(fstest.MapFS{"Dockerfile": {Data: []byte(one)}})
	if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "f") {
		t.Errorf("a missing file: %v", err)
	}
}
