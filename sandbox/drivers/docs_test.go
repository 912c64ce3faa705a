package drivers_test

import (
	"flag"
	"fmt"
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
	want := table(traits(t))
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

// table compares drivers by what they say of themselves, in Markdown: the table of
// docs/drivers.md.
func table(all []sandbox.Traits) string {
	var b strings.Builder
	b.WriteString("| Driver | Isolation | Fork of a prepared base | Network | Agents inside | After a crash of yudai | Limits | Start | Cost of an hour |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, t := range all {
		attach := "its runs begin again"
		if t.Attach {
			attach = "its runs go on"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n",
			t.Name, t.Isolation, fork(t), network(t), agents(t), attach, t.Limits, t.Start, t.Cost)
	}
	return b.String()
}

func fork(t sandbox.Traits) string {
	if !t.Fork {
		return "no: every sandbox is prepared by itself"
	}
	return t.ForkHow
}

func network(t sandbox.Traits) string {
	switch {
	case !t.Network:
		return "off"
	case t.Proxy:
		return "off; while preparing, an allow-list through a proxy on yudai's machine"
	default:
		return "off; while preparing, an allow-list that the provider enforces"
	}
}

// agents tells whether agents can live in sandboxes, and how they reach the gateway.
func agents(t sandbox.Traits) string {
	switch {
	case !t.Launch:
		return "no"
	case t.Socket:
		return "reach the gateway by a socket, and nothing else"
	default:
		return "reach the gateway by its public address, `server.public_url`, and nothing else"
	}
}
