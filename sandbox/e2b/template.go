package e2b

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed template
var templateFiles embed.FS

// What the template runs before it is frozen, and what says that it is done.
const (
	startCommand = "/opt/yudai/start.sh"
	readyCommand = "/opt/yudai/ready.sh"
)

// ourRecipe reads the template of this version.
func ourRecipe() (recipe, map[string][]byte, error) {
	files, err := fs.Sub(templateFiles, "template")
	if err != nil {
		return recipe{}, nil, fmt.Errorf("read template: %w", err)
	}
	return readRecipe(files)
}

// readRecipe reads a directory with a Dockerfile. The archives are what its COPY
// steps upload, by the hash that the steps have.
func readRecipe(files fs.FS) (recipe, map[string][]byte, error) {
	text, err := fs.ReadFile(files, "Dockerfile")
	if err != nil {
		return recipe{}, nil, fmt.Errorf("read template: %w", err)
	}
	r, err := parseDockerfile(string(text))
	if err != nil {
		return recipe{}, nil, fmt.Errorf("read template: Dockerfile: %w", err)
	}
	archives := map[string][]byte{}
	for i, s := range r.steps {
		if s.Type != "COPY" {
			continue
		}
		data, hash, err := archive(files, s.Args)
		if err != nil {
			return recipe{}, nil, fmt.Errorf("read template: %s: %w", s.Args[0], err)
		}
		r.steps[i].Hash, archives[hash] = hash, data
	}
	return r, archives, nil
}

// archive packs what one COPY takes. The hash is of where things come from and go
// to and of their content, and the same on every machine: the service keeps
// uploads by it.
func archive(files fs.FS, args []string) (data []byte, hash string, err error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n", args)
	var buf bytes.Buffer
	zip := gzip.NewWriter(&buf)
	out := tar.NewWriter(zip)
	err = fs.WalkDir(files, args[0], func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, p)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%q %d\n%s\n", p, len(content), content)
		mode := int64(0o644)
		if strings.HasSuffix(path.Base(p), ".sh") {
			mode = 0o755
		}
		if err := out.WriteHeader(&tar.Header{Name: p, Mode: mode, Size: int64(len(content)), Typeflag: tar.TypeReg, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = out.Write(content)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if err := out.Close(); err != nil {
		return nil, "", err
	}
	if err := zip.Close(); err != nil {
		return nil, "", err
	}
	return buf.Bytes(), hex.EncodeToString(sum.Sum(nil)), nil
}
