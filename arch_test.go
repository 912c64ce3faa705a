package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/test/house"
)

const module = "github.com/yudai-dev/yudai"

// mayImport is the import table of docs/architecture.md: which of our packages
// the non-test code of a package may import. A package without a row fails. Every package
// may also import forEveryone.
var mayImport = map[string][]string{
	".":          {"cmd"},
	"cmd":        {"server", "setup", "bundle", "handlers", "solve", "report", "git", "sandbox/drivers", "solver/replay", "internal/durable", "internal/githubsim", "internal/spelling"},
	"server":     {"handlers", "server/api", "reconcile", "setup", "bundle", "solve", "report", "solver", "agent", "agent/command", "agent/miniswe", "agent/presets", "agent/sweagent", "model/gateway", "model", "model/scripted", "sandbox", "sandbox/drivers", "store/bolt", "store/postgres", "ghapp", "git", "internal/clock", "internal/durable", "internal/failpoint", "internal/setting", "internal/strictyaml", "internal/watch", "patch", "repoconfig", "web"},
	"web":        {"agent", "report", "solve", "internal/durable", "internal/stream"},
	"reconcile":  {"handlers", "solve", "ghapp", "internal/clock"},
	"setup":      {"handlers", "web", "bundle", "solve", "solver", "sandbox", "sandbox/drivers", "model", "model/gateway", "ghapp", "git", "repoconfig", "internal/durable", "internal/strictyaml"},
	"server/api": {"handlers", "solve", "repoconfig", "ghapp", "internal/stream"},
	"handlers":   {"solve", "report", "internal/spelling"},
	"report":     {"solve"},
	"patch":      {"solve"},
	"bundle":     {"solve", "internal/durable"},
	"solve":      {"internal/spelling"},

	"repoconfig":          {"solve", "patch", "internal/strictyaml", "internal/spelling"},
	"internal/strictyaml": {"internal/spelling"},
	"internal/spelling":   {},

	"solver":            {"agent", "git", "internal/clock", "internal/durable", "internal/failpoint", "internal/logkey", "internal/spelling", "repoconfig", "report", "sandbox", "solve", "solver/attempt", "solver/budget", "solver/commands", "solver/crosscheck", "solver/fault", "solver/judge", "solver/plan", "solver/prepare", "solver/sandboxes", "solver/rights"},
	"solver/commands":   {"internal/logkey", "report", "solve", "solver/fault", "solver/rights"},
	"solver/plan":       {"agent", "repoconfig", "report", "solve", "solver/fault", "solver/sandboxes", "solver/rights"},
	"solver/attempt":    {"agent", "git", "internal/logkey", "patch", "sandbox", "solve", "solver/budget", "solver/fault", "solver/judge", "solver/prepare", "solver/sandboxes", "solver/tree"},
	"solver/rights":     {"solve"},
	"solver/prepare":    {"agent", "git", "internal/failpoint", "internal/logkey", "sandbox", "solve", "solver/fault", "solver/judge", "solver/sandboxes", "solver/tree"},
	"solver/crosscheck": {"internal/logkey", "patch", "sandbox", "solve", "solver/judge", "solver/prepare", "solver/sandboxes"},
	"solver/replay":     {"git", "patch", "sandbox", "solve", "solver/judge", "solver/prepare", "solver/sandboxes"},
	"solver/budget":     {"agent", "solve", "solver/fault"},
	"solver/sandboxes":  {"internal/clock", "internal/logkey", "sandbox", "solve", "solver/fault"},
	"solver/fault":      {"sandbox", "solve"},
	"solver/tree":       {"internal/gitenv", "sandbox"},
	"solver/judge":      {"solve", "patch", "sandbox", "solver/tree"},

	"agent":              {"solve", "sandbox", "internal/setting"},
	"agent/agenttest":    {"solve", "agent", "test/hostmachine", "test/toolcache", "model/fakeprovider", "model/scripted", "sandbox/sandboxtest", "test/require", "sandbox"},
	"agent/command":      {"solve", "agent", "sandbox", "internal/clock", "internal/setting"},
	"agent/miniswe":      {"solve", "agent", "agent/command", "sandbox"},
	"agent/presets":      {"solve", "agent", "agent/command", "sandbox"},
	"agent/swerex":       {"agent", "sandbox"},
	"agent/sweagent":     {"solve", "agent", "agent/swerex", "internal/setting", "sandbox/output"},
	"model":              {"solve", "agent", "model/fakeprovider", "model/meter", "model/scripted", "internal/setting"},
	"model/meter":        {"solve", "agent"},
	"model/scripted":     {"solve", "agent", "internal/clock"},
	"model/gateway":      {"solve", "agent", "model", "model/meter", "internal/durable", "internal/unixsock", "internal/setting"},
	"model/fakeprovider": {"solve", "agent"},

	"sandbox":                {"internal/setting"},
	"sandbox/local":          {"sandbox", "sandbox/egress", "sandbox/guest", "sandbox/guest/protocol", "internal/durable", "internal/failpoint", "internal/setting", "internal/clock", "sandbox/output"},
	"test/localtest":         {"sandbox", "sandbox/local", "sandbox/sandboxtest", "test/require"},
	"sandbox/docker":         {"sandbox", "sandbox/egress", "sandbox/guest", "sandbox/guest/protocol", "sandbox/records", "internal/failpoint", "internal/setting", "internal/clock"},
	"sandbox/e2b":            {"sandbox", "sandbox/cloud", "sandbox/e2b/envd", "sandbox/guest", "sandbox/records", "internal/setting", "internal/clock"},
	"sandbox/cloud":          {"sandbox", "sandbox/guest", "sandbox/records", "internal/failpoint", "internal/setting", "internal/clock"},
	"sandbox/prime":          {"sandbox", "sandbox/cloud", "sandbox/guest", "sandbox/prime/command", "sandbox/records", "internal/setting", "internal/clock"},
	"sandbox/egress":         {"internal/unixsock", "internal/setting"},
	"test/fakesandbox":       {"sandbox"},
	"sandbox/sandboxtest":    {"sandbox"},
	"sandbox/drivers":        {"sandbox", "sandbox/local", "sandbox/docker", "sandbox/e2b", "sandbox/prime", "sandbox/records", "internal/setting"},
	"sandbox/guest":          {"sandbox", "sandbox/guest/protocol", "sandbox/output", "internal/clock"},
	"sandbox/guest/protocol": {},
	"sandbox/guest/program":  {"sandbox/guest/protocol"},
	"sandbox/output":         {},
	"sandbox/records":        {"internal/durable"},

	"store/bolt":      {"solve", "internal/durable", "internal/failpoint", "internal/watch", "internal/setting"},
	"store/memory":    {"solve"},
	"store/storetest": {"solve"},
	"store/postgres":  {"solve", "internal/clock", "internal/watch"},
	"ghapp":           {"solve", "report", "internal/failpoint", "internal/clock", "internal/setting"},
	"git":             {"internal/gitenv", "solve"},

	"test/bench":                     {"agent", "git", "internal/githubsim", "model", "model/gateway", "model/scripted", "test/dockerd", "test/e2bsim", "test/primesim", "sandbox", "sandbox/docker", "sandbox/e2b", "test/fakesandbox", "sandbox/local", "sandbox/prime", "sandbox/records", "server", "solve", "report", "solver", "solver/budget", "store/bolt"},
	"test/checker":                   {"internal/githubsim", "solve", "store/bolt"},
	"test/dockerd":                   {},
	"test/postgres":                  {},
	"test/e2e":                       {"server", "internal/githubsim", "solve"},
	"internal/clock":                 {},
	"internal/durable":               {},
	"internal/gitenv":                {},
	"internal/unixsock":              {},
	"internal/stream":                {},
	"internal/setting":               {},
	"internal/watch":                 {},
	"internal/logkey":                {},
	"internal/failpoint":             {},
	"test/kill":                      {"agent", "test/checker", "test/program", "internal/failpoint", "internal/githubsim", "server", "solve"},
	"test/attack":                    {"bundle", "test/checker", "test/dockerd", "test/e2bsim", "test/machine", "test/postgres", "test/primesim", "test/program", "internal/githubsim", "solve"},
	"test/program":                   {},
	"test/projects":                  {"solve", "test/localsolve"},
	"test/localsolve":                {"sandbox/egress", "solve", "solver/judge"},
	"test/judgement":                 {"solve", "test/localsolve"},
	"test/toolcache":                 {},
	"test/hostmachine":               {"sandbox"},
	"test/house":                     {},
	"test/house/cmd":                 {"test/house"},
	"test/simulation":                {},
	"internal/githubsim":             {},
	"test/require":                   {},
	"test/machine":                   {},
	"test/e2bsim":                    {"test/machine", "sandbox/e2b/envd"},
	"sandbox/e2b/envd":               {},
	"test/primesim":                  {"test/machine", "sandbox/prime/command"},
	"sandbox/prime/command":          {},
	"internal/githubsim/openapi":     {},
	"internal/githubsim/openapi/cut": {},
}

// forEveryone holds the keys of log lines.
const forEveryone = "internal/logkey"

// source is one parsed Go file of ours.
type source struct {
	pkg  string // folder below the module's root
	name string
	test bool
	file *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	var out []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, source{filepath.ToSlash(filepath.Dir(p)), d.Name(), strings.HasSuffix(p, "_test.go"), f})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ours lists the packages of this module that a file imports.
func ours(s source) []string {
	var out []string
	for _, imp := range s.file.Imports {
		p, _ := strconv.Unquote(imp.Path.Value)
		if p == module {
			out = append(out, ".")
		} else if rest, ok := strings.CutPrefix(p, module+"/"); ok {
			out = append(out, rest)
		}
	}
	return out
}

func TestImportDirections(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		allowed, ok := mayImport[s.pkg]
		if !ok {
			t.Errorf("%s: package has no row in the import table", s.pkg)
			continue
		}
		for _, p := range ours(s) {
			if s.test {
				continue // tests may use suites, fakes and the emulator
			}
			if !slices.Contains(allowed, p) && p != forEveryone {
				t.Errorf("%s/%s imports %s: not in the import table", s.pkg, s.name, p)
			}
			if strings.HasSuffix(p, "test") && !strings.HasSuffix(s.pkg, "test") {
				t.Errorf("%s/%s imports the test package %s", s.pkg, s.name, p)
			}
		}
	}
}

// TestLayers: production imports its own room and what lies further down.
func TestLayers(t *testing.T) {
	t.Parallel()
	tree, err := house.Measure(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, up := range tree.Up {
		t.Errorf("%s, which runs up: see the layers in test/house/kind.go", up)
	}
}

// TestNoEmbeddedEngine: a type that embeds an engine borrows its methods, and nobody sees
// what it needs.
func TestNoEmbeddedEngine(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			typ, ok := n.(*ast.StructType)
			if !ok || s.test {
				return true
			}
			for _, f := range typ.Fields.List {
				if len(f.Names) == 0 && isEngine(f.Type) {
					t.Errorf("%s/%s embeds an Engine: state what the type needs as fields", s.pkg, s.name)
				}
			}
			return true
		})
	}
}

// isEngine says whether a type is Engine, *Engine or that of another package.
func isEngine(typ ast.Expr) bool {
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if sel, ok := typ.(*ast.SelectorExpr); ok {
		typ = sel.Sel
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.Name == "Engine"
}

// TestProductionIsBounded: fewer lines are a feature, so what raises the bound is a feature that is worth it.
func TestProductionIsBounded(t *testing.T) {
	t.Parallel()
	tree, err := house.Measure(".")
	if err != nil {
		t.Fatal(err)
	}
	const most = 80_800 // decision 39 has the account
	if n := tree.Total(house.Production); n > most {
		t.Errorf("production has %d lines, more than %d: `make house` says where", n, most)
	}
}

// TestLinesFitTheScreen: a line of production has at most 140 columns. Tags of fields cannot be cut, nor what generates code.
func TestLinesFitTheScreen(t *testing.T) {
	t.Parallel()
	tree, err := house.Measure(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range tree.Long {
		file, line, _ := strings.Cut(at, ":")
		data, err := os.ReadFile(file)
		n, bad := strconv.Atoi(line)
		if err != nil || bad != nil {
			t.Fatal(at, err, bad)
		}
		text := strings.Split(string(data), "\n")[n-1]
		if !strings.Contains(text, ` doc:"`) && !strings.Contains(text, ` enum:"`) && !strings.HasPrefix(text, "//go:generate ") {
			t.Errorf("%s has more than 140 columns", at)
		}
	}
}

func TestEmulatorOnlyInDemoAndSolve(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.pkg == "cmd" && !s.test && slices.Contains(ours(s), "internal/githubsim") &&
			!slices.Contains([]string{"demo.go", "solve.go", "rig.go"}, s.name) {
			t.Errorf("cmd/%s links the emulator; only demo, solve and their rig may", s.name)
		}
	}
}

// TestPrometheusOnlyInServer: other packages offer numbers, they do not name them.
func TestPrometheusOnlyInServer(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, imp := range s.file.Imports {
			if !s.test && s.pkg != "server" && strings.Contains(imp.Path.Value, "github.com/prometheus/") {
				t.Errorf("%s/%s imports %s", s.pkg, s.name, imp.Path.Value)
			}
		}
	}
}

// TestLogKeysAreConstants: a literal as the key of a log line is refused, so that
// internal/logkey lists all keys.
func TestLogKeysAreConstants(t *testing.T) {
	t.Parallel()
	fields := []string{"AnErr", "Any", "Bool", "Dur", "Float64", "Int", "Int64", "Interface", "Str", "Stringer", "Strs", "Time", "Uint64"}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			method, ok := call.Fun.(*ast.SelectorExpr)
			if key, literal := call.Args[0].(*ast.BasicLit); ok && literal && slices.Contains(fields, method.Sel.Name) {
				t.Errorf("%s/%s: %s(%s, ...): take the key from internal/logkey", s.pkg, s.name, method.Sel.Name, key.Value)
			}
			return true
		})
	}
}

func TestEveryRowHasAPackage(t *testing.T) {
	t.Parallel()
	for _, dir := range slices.Sorted(maps.Keys(mayImport)) {
		if found, _ := filepath.Glob(path.Join(dir, "*.go")); len(found) == 0 {
			t.Errorf("%s: in the import table, but there is no such package", dir)
		}
	}
}

// TestTableInArchitecture compares docs/architecture.md with the table above.
func TestTableInArchitecture(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([^`]+)`")
	said := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		pkg := name.FindStringSubmatch(cells[1])[1]
		if pkg == "main" {
			pkg = "."
		}
		said[pkg] = []string{}
		for _, m := range name.FindAllStringSubmatch(cells[3], -1) {
			said[pkg] = append(said[pkg], m[1])
		}
	}
	if diff := cmp.Diff(mayImport, said); diff != "" {
		t.Errorf("docs/architecture.md differs from mayImport (-table +page):\n%s", diff)
	}
}

// TestNamedFilesExist looks for every file of ours that a page names.
func TestNamedFilesExist(t *testing.T) {
	t.Parallel()
	pages := []string{"README.md", "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/decisions/*.md", "docs/evidence/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		pages = append(pages, found...)
	}
	named := regexp.MustCompile("`([a-z][a-zA-Z0-9_.-]*/[a-zA-Z0-9_./-]*|[a-zA-Z-]+\\.(?:go|md|yml|json)|Makefile|Dockerfile)`")
	count := 0
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(data), -1) {
			file := m[1]
			if foreignFile[file] || strings.Contains(file, "NNNN") || strings.HasPrefix(file, "data/") { // data/ is the operator's
				continue
			}
			count++
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s names %s, which does not exist", page, file)
			}
		}
	}
	if count < 30 {
		t.Errorf("only %d names of files found in the pages; is the pattern right?", count)
	}
}

// manual are the pages that people read to use, run and change yudai. Pages
// that a program writes from the code alone, and docs/evidence, are not in it.
func manual() []string {
	return []string{
		"README.md", "docs/setup.md", "docs/commands.md", "docs/repository-config.md", "docs/operations.md", "docs/drivers.md",
		"docs/agents.md", "docs/gateway.md", "docs/architecture.md", "docs/lifecycle.md",
	}
}

// words counts those of a page: what has a letter or a digit. The imports in the table
// of docs/architecture.md are data, equal to mayImport, and do not count.
func words(page string, text string) (n int) {
	for line := range strings.Lines(text) {
		if cells := strings.Split(line, "|"); page == "docs/architecture.md" && len(cells) == 5 {
			line = cells[1] + cells[2]
		}
		for _, field := range strings.Fields(line) {
			if strings.ContainsFunc(field, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
				n++
			}
		}
	}
	return n
}

// TestManualIsShort bounds what a reader has to read.
func TestManualIsShort(t *testing.T) {
	t.Parallel()
	const most = 12_000
	all := 0
	for _, page := range manual() {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		n := words(page, string(data))
		t.Logf("%6d %s", n, page)
		all += n
	}
	if all > most {
		t.Errorf("the manual has %d words, more than %d: move what nobody needs to run yudai to docs/evidence, or shorten it", all, most)
	}
}

// TestLongPagesHaveContents: a page of more than 800 words begins with a link
// to each of its chapters.
func TestLongPagesHaveContents(t *testing.T) {
	t.Parallel()
	chapter := regexp.MustCompile(`(?m)^## (.+)$`)
	dropped := regexp.MustCompile("[^a-z0-9 _-]")
	for _, page := range append(manual(), "docs/glossary.md") {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		if words(page, text) <= 800 {
			continue
		}
		for _, m := range chapter.FindAllStringSubmatch(text, -1) {
			anchor := strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
			if !strings.Contains(text, "](#"+anchor+")") {
				t.Errorf("%s has more than 800 words: its table of contents lacks [%s](#%s)", page, m[1], anchor)
			}
		}
	}
}

// foreignFile are names in the pages that are not files of this repository.
var foreignFile = map[string]bool{
	"ai/fix-{issue}-{solve}": true, "package.json": true, "pyproject.toml": true, "conftest.py": true, "go.work": true,
	"data/": true, "app.yml": true, "identity.json": true, "sessions.json": true, "secrets/": true, "secrets/github-app.pem": true, "secrets/webhook-secret": true, "secrets/client-secret": true,
	"secrets/new-app.json": true, "transcripts/": true, "artifacts/": true, "sandboxes/": true, "sandbox-records/": true, "gateway/": true, "bundles/": true, "gateway/secret": true, "src/test": true, "testing/synctest": true,
	".github/yudai.yml": true, "yudai.yml": true, "opencode.json": true,
}

func TestPackageComments(t *testing.T) {
	t.Parallel()
	has := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test {
			has[s.pkg] = has[s.pkg] || (s.file.Doc != nil && len(strings.TrimSpace(s.file.Doc.Text())) > 0)
		}
	}
	for pkg, ok := range has {
		if !ok {
			t.Errorf("%s: no package comment", pkg)
		}
	}
}

func TestNoInitAndNoSleep(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if ast.IsGenerated(s.file) {
			continue
		}
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s/%s has an init function", s.pkg, s.name)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && s.test && sel.Sel.Name == "Sleep" {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" {
					t.Errorf("%s/%s sleeps; wait for a signal", s.pkg, s.name)
				}
			}
			return true
		})
	}
}

func TestExportedNamesHaveComments(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || s.pkg == "." || ast.IsGenerated(s.file) {
			continue
		}
		for _, d := range s.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() && fn.Doc == nil && exportedReceiver(fn) {
				t.Errorf("%s/%s: %s has no comment", s.pkg, s.name, fn.Name.Name)
			}
		}
	}
}

func exportedReceiver(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

// TestRequiredDriversMustNotSkip holds every package whose tests can skip for
// want of a sandbox to a proof that they fail instead where it is required.
func TestRequiredDriversMustNotSkip(t *testing.T) {
	t.Parallel()
	requires := regexp.MustCompile(`YUDAI_TEST_REQUIRE|require\.(Need|Programs|Machines)|localtest\.(Driver|Open)|agenttest\.Installed`)
	proofs := 0
	for _, s := range sources(t) {
		if !s.test || s.name == "require_test.go" || s.pkg == "." {
			continue
		}
		data, err := os.ReadFile(filepath.Join(s.pkg, s.name))
		if err != nil {
			t.Fatal(err)
		}
		if !requires.Match(data) || strings.Contains(string(data), "require.SkipFails") { // the proof is beside it
			continue
		}
		proofs++
		if _, err := os.Stat(filepath.Join(s.pkg, "require_test.go")); err != nil {
			t.Errorf("%s/%s may skip: prove in %s/require_test.go that it fails where the driver is required", s.pkg, s.name, s.pkg)
		}
	}
	if proofs == 0 {
		t.Error("no test reads YUDAI_TEST_REQUIRE")
	}
}

// TestNoForeignTraces keeps machine paths and registry hosts out of what we ship.
func TestNoForeignTraces(t *testing.T) {
	t.Parallel()
	bad := []string{"/" + "work/main", "/" + "work/shared", "proxy.golang" + ".org,direct"}
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if p == ".git" && err == nil && !d.IsDir() { // a worktree of git's names its repository in it
			return nil
		}
		if err != nil || d.IsDir() {
			if d != nil && d.IsDir() && (d.Name() == ".git" || p == "bin") {
				return filepath.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(p)
		for _, b := range bad {
			if err == nil && strings.Contains(string(data), b) {
				t.Errorf("%s contains %q", p, b)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
