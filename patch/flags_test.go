package patch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
)

// flagsAt are the flags of a file that is changed, or added.
func flagsAt(t *testing.T, p string) []string {
	t.Helper()
	d := patch.Difference{Text: []byte(modify(p))}
	var err error
	if d.Changes, err = patch.Parse(d.Text); err != nil {
		t.Fatal(err)
	}
	d.Files = []solve.CommitFile{{Path: p, Mode: "100644", Data: []byte("b\n")}}
	flags, refused := patch.Check(d, solve.PatchRules{})
	if refused != "" {
		t.Fatalf("%s: %s", p, refused)
	}
	return flags
}

// TestFlagsOfPaths: what a path means for others is told, and ordinary paths mean nothing.
func TestFlagsOfPaths(t *testing.T) {
	t.Parallel()
	for words, paths := range map[string]string{
		"changes who must approve:":                                "CODEOWNERS .github/CODEOWNERS docs/CODEOWNERS",
		"touches files that instruct coding agents:":               "AGENTS.md CLAUDE.md x/claude.md .cursor/rules/a.mdc .cursorrules GEMINI.md .github/instructions/a.md",
		"touches .github:":                                         ".github/dependabot.yml .github/actions/x/action.yml",
		"touches what CI runs:":                                    ".gitlab-ci.yml .circleci/config.yml Jenkinsfile azure-pipelines.yml",
		"touches what editors, shells or hooks run by themselves:": ".husky/pre-commit .vscode/tasks.json x/.vscode/settings.json .devcontainer/devcontainer.json .devcontainer.json .envrc .v\u017Fcode/tasks.json lefthook.yml lefthook-local.yml .huskyrc .huskyrc.json .pre-commit-config.yaml .idea/runConfigurations/a.xml",
		"changes where packages come from:":                        ".npmrc web/.npmrc .yarnrc.yml pip.conf .cargo/config.toml x/.cargo/config a/b/.cargo/config.toml a/b/.mvn/wrapper/x.xml .yarn/releases/yarn.cjs mvnw gradlew.bat nuget.config .mvn/settings.xml gradle/wrapper/gradle-wrapper.properties pnpm-workspace.yaml poetry.toml .bowerrc",
		"changes how git treats files:":                            ".gitattributes x/.gitattributes",
		"generated or vendored code:":                              "vendor/x/a.go node_modules/a/b.js api/x.pb.go web/app.min.js third_party/z.c src/generated/a.ts web/__generated__/a.ts pip/_vendor/a.py",
		"test configuration:":                                      "jest.config.js pytest.ini",
		"build configuration:":                                     "Makefile Dockerfile CMakeLists.txt go.mod package.json build.gradle.kts pom.xml tsconfig.build.json Cargo.toml setup.py Directory.Packages.props Directory.Build.rsp a/b.targets environment.yml environment-dev.yaml pubspec.yaml Package.swift mix.exs pixi.toml pylock.toml pylock.dev.toml conda-lock.yml rust-toolchain rust-toolchain.toml project/plugins.sbt",
		"":                                                         "src/owners.go docs/agents.go src/husky/x.go vscode/tasks.json distribution/a.go builder.go a/CODEOWNERS lefthook/x.go vendors/x.go README.md src/npmrc.go",
	} {
		for p := range strings.FieldsSeq(paths) {
			flags := flagsAt(t, p)
			if words == "" && len(flags) > 0 || words != "" && !slices.Contains(flags, words+" "+p) {
				t.Errorf("%s: flags %q, want %q", p, flags, words)
			}
		}
	}
}

// whole is a difference of one file from one content to another.
func whole(t *testing.T, p, before, after string) patch.Difference {
	t.Helper()
	d := patch.Difference{Files: []solve.CommitFile{{Path: p, Mode: "100644", Data: []byte(after)}}, Paths: []string{p}}
	op := "modify"
	if before == "" {
		op = "add"
	} else {
		d.Before = map[string][]byte{p: []byte(before)}
	}
	d.Changes = []solve.FileChange{{Path: p, Op: op, Mode: "100644"}}
	return d
}

// TestFlagsOfContents: new dependencies are told by their names, new hosts by theirs.
func TestFlagsOfContents(t *testing.T) {
	t.Parallel()
	const deps, hosts = "adds dependencies: ", "names new hosts for packages: "
	for name, c := range map[string]struct{ path, before, after, want string }{
		"go":                {"go.mod", "module example.com/m\n\ngo 1.26\n\nrequire example.com/a v1.0.0\n", "module example.com/m\n\ngo 1.26\n\nrequire (\n\texample.com/a v1.2.0\n\texample.com/evil/b v0.1.0 // indirect\n)\n", deps + "example.com/evil/b (go.mod)"},
		"go replaced":       {"go.mod", "require example.com/a v1.0.0\n", "require example.com/a v1.0.0\n\nreplace example.com/a => example.org/fork v1.0.0\n", deps + "example.org/fork (go.mod)"},
		"npm":               {"web/package.json", `{"dependencies":{"a":"1"}}`, `{"dependencies":{"a":"2"},"devDependencies":{"left-pad":"1"}}`, deps + "left-pad (web/package.json)"},
		"pip":               {"requirements-dev.txt", "requests==2\n", "# a comment\nrequests>=2\nevil-pkg[x]~=1 # y\n", deps + "evil-pkg (requirements-dev.txt)"},
		"pip by address":    {"requirements.txt", "requests\n", "requests\ngit+https://example.org/x.git\n", deps + "git+https://example.org/x.git (requirements.txt)"},
		"pyproject":         {"pyproject.toml", "[project]\nname = \"p\"\ndependencies = [\"a>=1\"]\n", "[project]\nname = \"p\"\ndependencies = [\n \"a>=2\",\n \"evil ; python_version > '3'\",\n]\n", deps + "evil (pyproject.toml)"},
		"pyproject extra":   {"pyproject.toml", "[project]\nname = \"p\"\n", "[project]\nname = \"p\"\n[project.optional-dependencies]\ndev = [\"evil\"]\n", deps + "evil (pyproject.toml)"},
		"poetry":            {"pyproject.toml", "[tool.poetry.dependencies]\npython = \"^3\"\n", "[tool.poetry.dependencies]\npython = \"^3\"\n[tool.poetry.group.dev.dependencies]\nevil = {version = \"1\"}\n", deps + "evil (pyproject.toml)"},
		"cargo":             {"Cargo.toml", "[dependencies]\na = \"1\"\n", "[dependencies]\na = \"1\"\n[target.'cfg(unix)'.dependencies.evil]\nversion = \"1\"\n", deps + "evil (Cargo.toml)"},
		"cargo patch":       {"Cargo.toml", "[dependencies]\na = \"1\"\n", "[dependencies]\na = \"1\"\n[patch.crates-io]\na = { path = \"evil\" }\n", deps + "patch of a (Cargo.toml)"},
		"cargo replaced":    {"Cargo.toml", "[dependencies]\na = \"1\"\n", "[dependencies]\na = \"1\"\n[replace]\n\"a:1.0.0\" = { path = \"evil\" }\n", deps + "replacement of a:1.0.0 (Cargo.toml)"},
		"setup.cfg":         {"setup.cfg", "[options]\ninstall_requires =\n    a>=1,<2\n", "[options]\ninstall_requires =\n    a>=1,<2\n    # more\n    evil[x]>=1; python_version > '3'\n", deps + "evil (setup.cfg)"},
		"setup.cfg extra":   {"setup.cfg", "[metadata]\nname = p\n", "[metadata]\nname = p\n[options.extras_require]\ndev = evil\n", deps + "evil (setup.cfg)"},
		"setup.cfg colon":   {"setup.cfg", "[options]\n", "[options]\ninstall_requires:\n    evil>=1\n", deps + "evil (setup.cfg)"},
		"setup.cfg indent":  {"setup.cfg", "[options]\n", "[options]\n  zip_safe = true\n  install_requires = evil\n", deps + "evil (setup.cfg)"},
		"setup.cfg header":  {"setup.cfg", "[metadata]\n", "[metadata]\n[options.extras_require] # more\ndev =\n    evil\n", deps + "evil (setup.cfg)"},
		"pip, directory":    {"requirements/base.txt", "a\n", "a\nevil\n", deps + "evil (requirements/base.txt)"},
		"pip, any name":     {"deps/linux.txt", "# ours\na==1\n", "# ours\na==1\nevil\n", deps + "evil (deps/linux.txt)"},
		"pip, host":         {"deps/linux.txt", "a==1\n", "--index-url https://evil.example/simple\na==1\n", hosts + "evil.example (deps/linux.txt)"},
		"pip, included":     {"requirements.txt", "a\n", "a\n-r more/evil.list\n", deps + "more/evil.list (requirements.txt)"},
		"pip, options":      {"deps/linux.txt", "", "a==1\nevil --config-settings k=v\n", deps + "a (deps/linux.txt), evil (deps/linux.txt)"},
		"pip, options too":  {"requirements.txt", "a\n", "a\nevil --config-settings k=v\n", deps + "evil (requirements.txt)"},
		"pip, in brackets":  {"deps/linux.txt", "a==1\n", "a==1\nevil (>=1)\n", deps + "evil (deps/linux.txt)"},
		"pip, path":         {"deps/linux.txt", "", "a==1\nsub/evil\n", deps + "a (deps/linux.txt), sub/evil (deps/linux.txt)"},
		"pip, two lines":    {"deps/linux.txt", "", "a==1\nevil \\\n==1\n", deps + "a (deps/linux.txt), evil (deps/linux.txt)"},
		"pip, no joining":   {"requirements.txt", "a\n", "a\n# more \\\nevil\n", deps + "evil (requirements.txt)"},
		"pip, line ends":    {"requirements.txt", "a\n", "\ufeffa\r# x\revil\r\n", deps + "evil (requirements.txt)"},
		"pip, less certain": {"deps/linux.txt", "a==1\n", "a\nevil\n", deps + "evil (deps/linux.txt)"},
		"pip, spoiled":      {"deps/linux.txt", "a==1\n", "a\nevil\nno line of pip's\n", deps + "evil (deps/linux.txt)"},
		"maven":             {"pom.xml", "<dependency><groupId>g</groupId><artifactId>a</artifactId></dependency>", "<dependency><groupId>g</groupId>\n <artifactId>a</artifactId></dependency><dependency><groupId>org.evil</groupId>\n<artifactId>b</artifactId></dependency>", deps + "org.evil:b (pom.xml)"},
		"gradle":            {"app/build.gradle.kts", `implementation("g:a:1")`, `implementation("g:a:2"); testImplementation("org.evil:b:1")`, deps + "org.evil:b (app/build.gradle.kts)"},
		"lock file":         {"package-lock.json", `"resolved": "https://registry.npmjs.org/a.tgz"`, `"resolved": "https://registry.evil.example/a.tgz"`, hosts + "registry.evil.example (package-lock.json)"},
		"lock file by ssh":  {"yarn.lock", "", `resolved "git+ssh://git@evil.example/a.git"`, hosts + "evil.example (yarn.lock)"},
		"lock of poetry":    {"poetry.lock", `url = "https://pypi.org/simple"`, `url = "https://u:p@evil.example:8443/simple"`, hosts + "evil.example (poetry.lock)"},
		"lock of pip":       {"pylock.dev.toml", `url = "https://pypi.org/a.whl"`, `url = "https://evil.example/a.whl"`, hosts + "evil.example (pylock.dev.toml)"},
		"workspace of pnpm": {"pnpm-workspace.yaml", "packages: [a]\n", "packages: [a]\noverrides: {b: 'https://evil.example/b.tgz'}\n", hosts + "evil.example (pnpm-workspace.yaml)"},
		"conda":             {"environment.yml", "channels: [conda-forge]\n", "channels: ['https://evil.example/c']\n", hosts + "evil.example (environment.yml)"},
		"swift":             {"Package.swift", "", `.package(url: "https://evil.example/p", from: "1.0.0")`, hosts + "evil.example (Package.swift)"},
		"index of pip":      {"requirements.txt", "a\n", "--index-url https://evil.example/simple\na\n", hosts + "evil.example (requirements.txt)"},
		"install script":    {"package.json", `{"scripts":{"test":"jest"}}`, `{"scripts":{"test":"jest","postinstall":"node x.js"}}`, "changes scripts that run at install: postinstall (package.json)"},
		"script hidden":     {"package.json", `{}`, `{"scripts":{"install":"node x.js","start":1},"Scripts":{"install":""}}`, "changes scripts that run at install: install (package.json)"},
		"pyproject spaced":  {"pyproject.toml", "[project]\ndependencies = []\n", "[project]\ndependencies = [\" evil>=1\"]\n", deps + "evil (pyproject.toml)"},
		"npm by alias":      {"package.json", `{"dependencies":{"a":"1"}}`, `{"dependencies":{"a":"npm:evil@1"}}`, deps + "a@npm:evil@1 (package.json)"},
		"pip, folded":       {"requirement\u017F.txt", "a\n", "a\nevil\n", deps + "evil (requirement\u017F.txt)"},
		"pipenv":            {"Pipfile", "[packages]\na = \"*\"\n", "[packages]\na = \"==1\"\nevil = \"*\"\n", deps + "evil (Pipfile)"},
		"said generated":    {"api.go", "", "// Code generated by x. DO NOT EDIT.\npackage api\n", "generated or vendored code: api.go"},
	} {
		flags, refused := patch.Check(whole(t, c.path, c.before, c.after), solve.PatchRules{})
		if refused != "" || !slices.Contains(flags, c.want) {
			t.Errorf("%s: flags %q, refused %q; want %q", name, flags, refused, c.want)
		}
		same, _ := patch.Check(whole(t, c.path, c.after, c.after), solve.PatchRules{})
		if slices.Contains(same, c.want) && !strings.HasPrefix(c.want, "generated") {
			t.Errorf("%s: %q where nothing changed", name, same)
		}
	}
}

// TestTextIsNoRequirement: prose, word lists and settings that have nothing to do with packages add none.
func TestTextIsNoRequirement(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"notes.txt": "We want a==b here.\nAnd more words.\n", "words.txt": "apple\nbanana\n", "how.txt": "a==1\nRun pip install a - it is quick\n", "frequencies.txt": "apple\nbanana\n", "robots.txt": "User-agent: *\nDisallow: /\n",
		"setup.cfg": "[metadata]\nname = p\n[options]\npackages = find:\npython_requires = >=3.9\n[flake8]\nignore =\n    E501\n",
		"a.py":      "a==1\n",
	} {
		flags, refused := patch.Check(whole(t, name, "", text), solve.PatchRules{})
		if refused != "" || slices.ContainsFunc(flags, func(f string) bool { return strings.Contains(f, "depend") }) {
			t.Errorf("%s: flags %q, refused %q", name, flags, refused)
		}
	}
}

// TestMovedManifestAddsNothing: what a file named where it was is not new where it is.
func TestMovedManifestAddsNothing(t *testing.T) {
	t.Parallel()
	d := whole(t, "web/package.json", "", `{"dependencies":{"a":"1"},"scripts":{"postinstall":"x"}}`)
	d.Before = map[string][]byte{"package.json": d.Files[0].Data}
	d.Files = append(d.Files, solve.CommitFile{Path: "package.json", Delete: true})
	d.Changes[0].Op, d.Changes[0].OldPath = "rename", "package.json"
	if flags, refused := patch.Check(d, solve.PatchRules{}); refused != "" || !slices.Equal(flags, []string{"build configuration: web/package.json"}) {
		t.Errorf("flags %q, refused %q", flags, refused)
	}
}

// TestFlagsOfLinks: a link with the name of a directory brings its files, whatever they are called where they are.
func TestFlagsOfLinks(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]string{
		".husky": "touches what editors, shells or hooks run by themselves:", "web/.claude": "touches files that instruct coding agents:",
		".circleci": "touches what CI runs:", ".github": "touches .github:", ".cargo": "changes where packages come from:",
	} {
		text := add(p, "120000", "x")
		changes, err := patch.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		flags, refused := patch.Check(difference(changes, text), solve.PatchRules{})
		if refused != "" || !slices.Contains(flags, want+" "+p) {
			t.Errorf("%s: flags %q, refused %q; want %q", p, flags, refused, want)
		}
	}
}

// TestFlagsNameMany: a new dependency or host does not hide behind others that sort before it, and what is left out is counted.
func TestFlagsNameMany(t *testing.T) {
	t.Parallel()
	lines := func(format string, n int) (text string) {
		for i := range n {
			text += fmt.Sprintf(format, i)
		}
		return text
	}
	files := func(n int) patch.Difference {
		text := ""
		for i := range n {
			text += modify(fmt.Sprintf(".github/a%02d", i))
		}
		changes, err := patch.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return difference(changes, text)
	}
	for want, d := range map[string]patch.Difference{
		"a29 (requirements.txt)":            whole(t, "requirements.txt", "", lines("a%02d==1\n", 30)),
		"a29 (requirements.txt) and 1 more": whole(t, "requirements.txt", "", lines("a%02d==1\n", 31)),
		"a29 (yarn.lock)":                   whole(t, "yarn.lock", "", lines("https://a%02d/a.tgz\n", 30)),
		"a29 (yarn.lock) and 1 more":        whole(t, "yarn.lock", "", lines("https://a%02d/a.tgz\n", 31)),
		".github/a09":                       files(10),
		".github/a09 and 1 more":            files(11),
	} {
		flags, refused := patch.Check(d, solve.PatchRules{})
		if refused != "" || !slices.ContainsFunc(flags, func(f string) bool { return strings.HasSuffix(f, want) }) {
			t.Errorf("flags %q, refused %q; want %q", flags, refused, want)
		}
	}
}

// TestFlagsAreShort: a name that a candidate chose neither fills the pull request nor breaks its line.
func TestFlagsAreShort(t *testing.T) {
	t.Parallel()
	d := whole(t, "package.json", `{}`, `{"dependencies":{"a\n\nb\u202e`+strings.Repeat("x", 100_000)+`":"1"}}`)
	flags, refused := patch.Check(d, solve.PatchRules{})
	if refused != "" || len(flags) == 0 {
		t.Fatalf("flags %q, refused %q", flags, refused)
	}
	for _, f := range flags {
		if len(f) > 300 || strings.ContainsAny(f, "\n\u202e") {
			t.Errorf("%d bytes: %.60q", len(f), f)
		}
	}
}

func TestFlagsOfCaseAndInvisibleCharacters(t *testing.T) {
	t.Parallel()
	d := whole(t, "ReadMe.md", "", "x")
	d.Paths = []string{"README.md", "ReadMe.md", "src/a.go"}
	const twins = "has a path that differs from another in case only: "
	if flags, _ := patch.Check(d, solve.PatchRules{}); !slices.Equal(flags, []string{twins + "ReadMe.md and README.md"}) {
		t.Errorf("%q", flags)
	}
	d = whole(t, "SRC/b.go", "", "x")
	d.Paths = []string{"SRC/b.go", "src/a.go"}
	if flags, _ := patch.Check(d, solve.PatchRules{}); !slices.Equal(flags, []string{twins + "SRC and src"}) {
		t.Errorf("%q", flags)
	}
	d = whole(t, "λόγος.go", "", "x")
	d.Paths = []string{"λόγος.go", "λόγοσ.go"}
	if flags, _ := patch.Check(d, solve.PatchRules{}); !slices.Equal(flags, []string{twins + "λόγος.go and λόγοσ.go"}) {
		t.Errorf("%q", flags)
	}
	const invisible = "adds lines with invisible characters, or some that turn the direction of text: a.go"
	for text, want := range map[string]bool{
		"x := \"\u202e\u2066\"": true, "a\u200bb": true, "tag \U000E0041": true, "straße ❤\uFE0F 日本": false, "\xff\xfe": false, "\xff\u202e": true,
		"isAdmin\uFE0F": true, "$\uFE0F = 1": true, "1\uFE0F": true, "❤\uFE0F\uFE0F": true, "\uFE0F❤": true, "ok ✅\uFE0F \U0001F6E0\uFE0F ↔\uFE0F ‼\uFE0F ℹ\uFE0F": false, "1\uFE0F\u20E3 #\uFE0F\u20E3": false,
	} {
		text := add("a.go", "100644", text)
		changes, err := patch.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		flags, refused := patch.Check(difference(changes, text), solve.PatchRules{})
		if slices.Contains(flags, invisible) != want || refused != "" {
			t.Errorf("%q: %q %q", text, flags, refused)
		}
	}
	gone := strings.NewReplacer("-a", "-a\u202e", "+b", "+b").Replace(modify("a.go"))
	changes, _ := patch.Parse([]byte(gone))
	if flags, _ := patch.Check(difference(changes, gone), solve.PatchRules{}); len(flags) > 0 {
		t.Errorf("a line that is removed: %q", flags)
	}
}
