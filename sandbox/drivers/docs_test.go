package drivers_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox/drivers"
)

// TestEveryDriverHasItsRow compares docs/drivers.md with what the drivers say of themselves.
func TestEveryDriverHasItsRow(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/drivers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range drivers.Names() {
		c := drivers.DefaultConfig()
		c.Driver, c.Local.Dir = name, t.TempDir()
		d, err := drivers.New(c, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "| `"+name+"`") {
				found = strings.Contains(line, d.Traits().Isolation)
			}
		}
		if !found {
			t.Errorf("docs/drivers.md has no row of %s with its isolation: %s", name, d.Traits().Isolation)
		}
	}
}
