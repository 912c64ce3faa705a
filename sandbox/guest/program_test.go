package guest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "build the programs and write them into built/")

// architectures are those of the embedded programs.
func architectures() []string { return []string{"amd64", "arm64"} }

// sourcesSum is the sum of everything of ours that the programs are built from.
func sourcesSum(t *testing.T) string {
	t.Helper()
	sum := sha256.New()
	for _, dir := range []string{"program", "protocol"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(sum, "%s %d\n%s", filepath.ToSlash(file), len(text), text)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// buildProgram builds the program for an architecture with this toolchain.
func buildProgram(t *testing.T, arch string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest")
	c := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", out, "./program")
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOFLAGS=") || strings.HasPrefix(v, "GOEXPERIMENT=")
	}), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=")
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build the program for %s: %v\n%s", arch, err, said)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// TestProgramIsCurrent: the embedded programs are built from these sources.
func TestProgramIsCurrent(t *testing.T) {
	t.Parallel()
	if *update {
		writePrograms(t)
		return
	}
	if got := recorded("sources"); got != sourcesSum(t) {
		t.Fatal("the sources of the program inside have changed: run `make guest`")
	}
	for _, arch := range architectures() {
		p, err := ProgramFor(arch)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Data(); err != nil {
			t.Error(err)
		}
	}
}

// TestProgramIsReproducible: whoever builds the program gets the embedded bytes.
func TestProgramIsReproducible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds two programs")
	}
	if recorded("go") != runtime.Version() {
		t.Skipf("they were built by %s, and this is %s", recorded("go"), runtime.Version())
	}
	for _, arch := range architectures() {
		if sum := sumOf(buildProgram(t, arch)); !*update && sum != recorded(arch) {
			t.Errorf("the program for %s has the sum %s, recorded is %s: run `make guest`", arch, sum, recorded(arch))
		}
	}
}

func writePrograms(t *testing.T) {
	t.Helper()
	text := fmt.Sprintf("go %s\nsources %s\n", runtime.Version(), sourcesSum(t))
	for _, arch := range architectures() {
		data := buildProgram(t, arch)
		text += fmt.Sprintf("%s %s\n", arch, sumOf(data))
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err == nil {
			_, err = w.Write(data)
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil {
			err = os.WriteFile("built/linux-"+arch+".gz", packed.Bytes(), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("built/manifest.txt", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
