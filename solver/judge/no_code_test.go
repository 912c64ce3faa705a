package judge_test

import (
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

func TestIsDocument(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"README.md": true, "README": true, "pkg/README.rst": true, "LICENSE": true, "LICENSE-MIT": true, "COPYING.LESSER": false,
		"CHANGELOG.md": true, "CHANGES.txt": true, "doc/guide.adoc": true, "docs/ref/models.txt": true, "NOTES.md": true, "src/README.md": true,
		"src/prompts/system.md": false, "templates/mail.md": false, "content/post.md": false, "docs/pages/start.md": true, "src/docs/a.md": false,
		"requirements.txt": false, "docs/requirements.txt": false, "CMakeLists.txt": false, "robots.txt": false, "words.txt": false,
		"install.sh": false, "install.py": false, "security.py": false, "history.js": false, "news.json": false, "VERSION": false, "docs/conf.py": false,
		"docs/logo.svg": false, "page.mdx": false, "index.html": false,
	} {
		if got := judge.IsDocument(p); got != want {
			t.Errorf("%s: %v, want %v", p, got, want)
		}
	}
}

// sourceChange is a change of one source file.
type sourceChange struct{ name, before, after string }

// nothing are changes of comments and white space.
var nothing = []sourceChange{
	{"a.go", "package a\n\nfunc F() int { return 1 }\n", "// Package a.\npackage a\n\n\nfunc F() int {\n\treturn 1 // one\n}\n"},
	{"a.go", "package a\n\n/* old */ var X = `//x`\n", "package a\n\nvar X = `//x`\n"},
	{"a.py", "def f(x):\n    return x\n", "# more\ndef f(x):\n\n    # why\n    return x  # don't\n"},
	{"a.py", "def f(x):\n    return x\n",
		"\"\"\"A module.\"\"\"\n\n\ndef f(x):\n    '''Says \"why\".\n\n    More: # of it.\n    '''\n    return x\n"},
	{"a.py", "f(1,\n  2)\nx = [\n]\n", "f(1,  # one\n      2)\nx = [  \n\n    # none\n]"},
	{"a.py", "x = f\"{a['#']}\"\ny = 1\n", "x = f\"{a['#']}\"\n\ny = 1 # it's\n"},
	{"a.py", "x = 1 + \\\n  2\n", "x = 1 + \\\n      2\n"},
	{"a.js", "const a = 1;\nlet u = 'http://x';\n", "/** Doc. */\nconst a = 1; // one\n\nlet u = 'http://x';   \n"},
	{"a.js", "x = a / b\ny = `a ${ b } // c`\n", "// it's\nx = a / b\n  y = `a ${ b } // c` // end\n"},
	{"a.ts", "type A<T> = { a: T }\n", "type A<T> = { /* of T */ a: T }\n"},
	{"a.tsx", "export const A = () => (\n  <p>see it</p>\n)\n", "// A shows it.\nexport const A = () => (\n    <p>see it</p>\n)\n"},
	{"A.java", "class A { int f() { return 1; } }\n", "/** A. */\nclass A\n{\n\t// one\n\tint f() { return 1; }\n}\n"},
	{"A.java", "String s = \"\"\"\n  // in \\\"\"\" it\n  \"\"\";\n", "String s = \"\"\"\n  // in \\\"\"\" it\n  \"\"\"; // end\n"},
	{"a.kt", "val a = \"${f(\"}\")} // x\"\n", "val a = \"${f(\"}\")} // x\" // y /* z */\n/* a /* nested */ b */\n"},
	{"a.rs", "fn f<'a>(x: &'a str) -> char { '\"' }\n", "/// Does it, like `this`.\nfn f<'a>(x: &'a str) -> char {\n    /* a /* b */ c */ '\"' // \"\n}\n"},
	{"a.rs", "let a = r#\"// \"no\" \"#;\n", "let a = r#\"// \"no\" \"#; // yes\n"},
	{"a.c", "#include <a.h>\n#define F(x) \\\n  (x)\nint f(void) { return 1; }\n",
		"/* f. */\n#include <a.h> // a\n#define F(x) \\\n  (x)\nint f(void)\n{\n\treturn 1; /* one */\n}\n"},
	{"a.cc", "int a = 1'000'000; char c = '\"';\n", "int a = 1'000'000; char c = '\"'; // \"\n"},
	{"a.rb", "def f\n  \"a#b\"\nend\n", "# Does it, doesn't it?\ndef f\n    \"a#b\"\n\nend\n"},
	{"a.sh", "echo \"$#\" ${a#b}\n", "# it's\necho  \"$#\" ${a#b}\n"},
	{"a.css", ".a .b { color: red }\n", "/* all */\n.a .b {\n  color: red\n}\n"},
	{"a.scss", ".a { background: url(http://x.y/z) }\n", "// all\n.a { background: url(http://x.y/z) } // it\n"},
}

// something are changes that may mean something, if only to a tool.
var something = []sourceChange{
	{"a.go", "package a\n\nvar X = 1\n", "package a\n\nvar X = 2\n"},
	{"a.go", "package a\n", "//go:build linux\n\npackage a\n"},
	{"a.go", "package a\n\n// int f();\nimport \"C\"\n", "package a\n\n// int g();\nimport \"C\"\n"},
	{"a.go", "package a\n\nvar X = \"// a\"\n", "package a\n\nvar X = \"// b\"\n"},
	{"a.go", "package a\n\nfunc f() { g(); h() }\n", "package a\n\nfunc f() { g(h()) }\n"},
	{"a.go", "package a\n", "package a\n\nfunc {{\n"},
	{"a.py", "if x:\n    f()\ng()\n", "if x:\n    f()\n    g()\n"},
	{"a.py", "x = 'a # b'\n", "x = 'a # c'\n"},
	{"a.py", "f = 1\n", "f = 1  # type: ignore\n"},
	{"a.py", "f = 1\n", "# -*- coding: latin-1 -*-\nf = 1\n"},
	{"a.py", "def f():\n    \"\"\"F.\n\n    >>> f()\n    1\n    \"\"\"\n", "def f():\n    \"\"\"F.\n\n    >>> f()\n    2\n    \"\"\"\n"},
	{"a.py", "\"\"\"Usage: a\"\"\"\nargs = docopt(__doc__)\n", "\"\"\"Usage: a b\"\"\"\nargs = docopt(__doc__)\n"},
	{"a.py", "x = \"\"\"a\n# b\n\"\"\"\n", "x = \"\"\"a\n# c\n\"\"\"\n"},
	{"a.py", "x = f\"{a['#']} b\"\n", "x = f\"{a['#']} c\"\n"},
	{"a.py", "x = f'{a['#']} b'\n", "x = f'{a['#']} c'\n"},
	{"a.py", "f(\n\"a\"\n)\n", "f(\n\"b\"\n)\n"},
	{"a.py", "\"a\".f()\n", "\"b\".f()\n"},
	{"a.py", "b'a'\n", "b'b'\n"},
	{"a.py", "x = 'not closed\"\"\"\n# a\n", "x = 'not closed\"\"\"\n# a\n\"\"\"\n"},
	{"a.js", "return x\n", "return\nx\n"},
	{"a.js", "return /* a */ x\n", "return /* a\n */ x\n"},
	{"a.js", "a = b / c // d\n", "a = b / c / d\n"},
	{"a.js", "if (a) /\\//.test(b)\n", "if (a) /\\//.test(c)\n"},
	{"a.js", "x = /[/`]/; y = 1 // a `\n", "x = /[/`]/; y = 2 // a `\n"},
	{"a.js", "a = `\n// b`\n", "a = `\n// c`\n"},
	{"a.js", "a = `${ `// ${b}` }`\n", "a = `${ `// ${c}` }`\n"},
	{"a.ts", "f(1)\n", "// @ts-ignore\nf(1)\n"},
	{"a.ts", "a.b()\n", "a?.b()\n"},
	{"a.js", "a ++\nb\n", "a\n++b\n"},
	{"a.js", "a - -b\n", "a--b\n"},
	{"a.jsx", "x = <a>http://a.b</a>\n", "x = <a>http://a.c</a>\n"},
	{"a.jsx", "x = <p>see // a</p>\n", "x = <p>see // b</p>\n"},
	{"a.jsx", "x = <p>Accept: */* a</p>\ny = 1 // */\n", "x = <p>Accept: */* b</p>\ny = 2 // */\n"},
	{"A.java", "// \\u000a f();\n", "// \\u000a g();\n"},
	{"A.java", "int a;\n", "/** @deprecated use b */\nint a;\n"},
	{"A.java", "s = \"/*\"; f(); // */\n", "s = \"/*\"; g(); // */\n"},
	{"a.kt", "val a = \"\"\"\n// b\n\"\"\"\n", "val a = \"\"\"\n// c\n\"\"\"\n"},
	{"a.rs", "/// ```\n/// f();\n/// ```\nfn f() {}\n", "/// ```\n/// g();\n/// ```\nfn f() {}\n"},
	{"a.rs", "/** ```\nf();\n``` */\nfn f() {}\n", "/** ```\ng();\n``` */\nfn f() {}\n"},
	{"a.rs", "let a = r##\"\n\"# // b\n\"##;\n", "let a = r##\"\n\"# // c\n\"##;\n"},
	{"a.rs", "let a = '\"'; // \" b\nlet b = 1;\n", "let a = '\"'; // \" b\nlet b = 2;\n"},
	{"a.c", "#define F(x) 1\n", "#define F (x) 1\n"},
	{"a.c", "#define A b\nc\n", "#define A b c\n"},
	{"a.c", "// a \\\nf();\ng();\n", "// a \\\nh();\ng();\n"},
	{"a.cc", "a = R\"(\n// b)\";\n", "a = R\"(\n// c)\";\n"},
	{"a.c", "x = a+++b;\n", "x = a + ++b;\n"},
	{"a.rb", "f [1]\n", "f[1]\n"},
	{"a.rb", "x = <<~A\n  # b\nA\n", "x = <<~A\n  # c\nA\n"},
	{"a.rb", "x = 1\n", "# frozen_string_literal: true\nx = 1\n"},
	{"a.rb", "x.gsub(/'/, '') # a\n", "x.gsub(/'/, '') + 1 # a\n"},
	{"a.sh", "a= b\n", "a=b\n"},
	{"a.sh", "echo 'a\n# b\n'\n", "echo 'a\n# c\n'\n"},
	{"a.sh", "echo \"$(f \"a # b\")\"\n", "echo \"$(f \"a # c\")\"\n"},
	{"a.sh", "f\n", "#!/bin/bash\nf\n"},
	{"a.css", ".a .b {}\n", ".a.b {}\n"},
	{"a.css", "a { content: \"/*\" } b {} /* */\n", "a { content: \"/*\" } c {} /* */\n"},
	{"a.yaml", "a: 1\n", "a: 1 # one\n"},
	{"Makefile", "a:\n", "# a\na:\n"},
	{"a.vue", "a\n", "a \n"},
}

func TestSameCode(t *testing.T) {
	t.Parallel()
	for want, changes := range map[bool][]sourceChange{true: nothing, false: something} {
		for _, c := range changes {
			if got := judge.SameCode(c.name, c.before, c.after); got != want {
				t.Errorf("%s: same code is %v, want %v:\n%s----\n%s", c.name, got, want, c.before, c.after)
			}
		}
	}
}

// TestHostileSources: a candidate's text takes time in proportion to its length.
func TestHostileSources(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.go", "a.py", "a.js", "a.tsx", "A.java", "a.kt", "a.rs", "a.c", "a.rb", "a.sh", "a.css", "a.scss"} {
		for _, part := range []string{"/", "/*", "*/", "//\n", "(", "\"", "'", "`", "${", "`${", "f'{", "\"\"\"", "#", "# ", "\\", "\\\n", "r#", "'\\", "a ", "<<", "\x00", "\xff"} {
			text := strings.Repeat(part, 1<<16/len(part))
			judge.SameCode(name, text, text+"a")
		}
	}
}

func FuzzSameCode(f *testing.F) {
	for _, c := range append(nothing, something...) {
		f.Add(c.name, c.before)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		if judge.SameCode(name, text, text) && judge.SameCode(name, text, "x = 1\n"+text) {
			t.Errorf("%s: another statement is no difference: %q", name, text)
		}
	})
}

func TestNoCode(t *testing.T) {
	t.Parallel()
	b := prepare(t, runner+"echo 'def f(): return 1' > src/a.py; echo hi > README.md; touch LICENSE", runnerTests)
	for script, want := range map[string]bool{
		"echo more >> README.md":                                   true,
		"echo '# more' >> src/a.py; echo more >> LICENSE":          true,
		"echo 'mine|true' > tests/c.t":                             true,
		"git rm -q README.md; echo new > docs.md":                  true,
		"git mv README.md NOTES.md":                                true,
		"echo 'x = 1' >> src/a.py; echo more >> README.md":         false,
		"chmod +x src/a.py; echo '# more' >> src/a.py":             false,
		"chmod +x README.md":                                       false,
		"ln -s README.md NEWS.md":                                  false,
		"printf '\\0\\1' > README.md; echo '# more' >> src/a.py":   false,
		"git mv src/a.py tests/a.py":                               false,
		"touch src/__init__.py":                                    false,
		"git rm -q src/a.py":                                       false,
		"echo 2 > src/val":                                         false,
		"sed -i 's/1/2/' src/a.py; echo '# more' >> src/a.py":      false,
		"echo requests > requirements.txt; echo more >> README.md": false,
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			in := b.candidate(t, script)
			in.Tries = 1
			v, log := b.judge(t, in)
			if v.NoCode != want || v.Outcome == solve.NoVerdict {
				t.Errorf("no code is %v, want %v: %s\n%s", v.NoCode, want, v.Reason, log)
			}
		})
	}
}
