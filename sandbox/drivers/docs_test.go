package drivers_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
)

// rewrite makes TestTable write the page: go test ./sandbox/drivers -run TestTable -update.
func rewrite() *bool { return flag.Bool("update", false, "write the table of docs/drivers.md") }

var update = rewrite() //nolint:gochecknoglobals // a flag, which must be there before flags are parsed

// TestTable compares the table of docs/drivers.md with what the drivers say of themselves.
func TestTable(t *testing.T) {
	const page, begin, end = "../../docs/drivers.md", "<!-- table: from the drivers' traits -->\n", "<!-- end of table -->"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	got, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no markers %s and %s", page, begin, end)
	}
	want := drivers.Table(traits(t))
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s is not what the drivers say; run go test ./sandbox/drivers -run TestTable -update (-drivers +page)\n%s", page, diff)
	}
}

// traits are those of every driver in its default settings, where nothing is missing.
func traits(t *testing.T) []sandbox.Traits {
	var all []sandbox.Traits
	c := configured(t)
	for _, name := range drivers.Names() {
		c.Driver = name
		d, err := drivers.New(c, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d.Traits())
		if last := &all[len(all)-1]; last.ForkHow == "copy" { // this machine has no overlay: the page tells that below the table
			last.ForkHow = "overlay"
		}
	}
	return all
}
