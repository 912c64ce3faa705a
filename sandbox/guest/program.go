package guest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
)

// `make guest` builds the programs and the manifest; TestProgramIsCurrent compares them
// with the sources.
//
//nolint:gochecknoglobals // embedded files, never changed
var (
	//go:embed built/linux-amd64.gz
	programAMD64 []byte
	//go:embed built/linux-arm64.gz
	programARM64 []byte
	// Lines of a name and a value: the sum of each program, and what it was built from.
	//
	//go:embed built/manifest.txt
	manifest string
)

// Program is what runs inside, for one architecture.
type Program struct {
	// Path is where it is inside. It contains the beginning of the sum, so that the
	// programs of two versions of yudai can be in one machine.
	Path   string
	SHA256 string // in hexadecimal digits

	packed []byte
}

// ProgramFor returns the program for an architecture as Go names it.
func ProgramFor(arch string) (Program, error) {
	packed := map[string][]byte{"amd64": programAMD64, "arm64": programARM64}[arch]
	if packed == nil {
		return Program{}, fmt.Errorf("no program for the architecture %q, only for amd64 and arm64", arch)
	}
	sum := recorded(arch)
	return Program{Path: protocol.ProgramDir + "/guest-" + sum[:16], SHA256: sum, packed: packed}, nil
}

// recorded is a value of the manifest.
func recorded(name string) string {
	for line := range strings.Lines(manifest) {
		if key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key == name {
			return value
		}
	}
	return ""
}

// Data unpacks the program.
func (p Program) Data() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(p.packed))
	if err != nil {
		return nil, fmt.Errorf("unpack the program: %w", err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("unpack the program: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != p.SHA256 {
		return nil, fmt.Errorf("unpack the program: its sum is %x, want %s", sum, p.SHA256)
	}
	return data, nil
}

// Matches reports whether a file holds the program.
func (p Program) Matches(file string) bool {
	data, err := os.ReadFile(file)
	sum := sha256.Sum256(data)
	return err == nil && hex.EncodeToString(sum[:]) == p.SHA256
}
