package judge_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
	"github.com/yudai-dev/yudai/test/require"
)

// Cargo takes a source that is older than what it built for one that did not change.
func TestCanariesInRustAreGoneFromTheNextRun(t *testing.T) {
	t.Parallel()
	require.Programs(t, "rust", "cargo")
	b := prepare(t, `mkdir src
printf '[package]\nname = "m"\nversion = "1.0.0"\nedition = "2021"\n' > Cargo.toml
printf 'pub fn two() -> i32 {\n    3\n}\n\n#[test]\nfn is_two() {\n    assert_eq!(two(), 2);\n}\n\n#[test]\nfn other() {}\n' > src/lib.rs
echo target > .gitignore`, solve.TestCommand{Command: "cargo test --offline --no-fail-fast 2>&1", Format: "cargo", Source: "Cargo.toml"})
	want := map[string]judge.Status{"src/lib.rs.is_two": judge.Fail, "src/lib.rs.other": judge.Pass}
	if diff := cmp.Diff(want, b.report.Tests); diff != "" || b.report.Canaries == nil {
		t.Fatalf("%+v: %s", b.report.Canaries, diff)
	}
	v, log := b.judge(t, b.candidate(t, "sed -i 's/    3/    2/' src/lib.rs"))
	if v.Outcome != solve.Passed || v.Fixed != 1 || v.Kept != 1 {
		t.Errorf("%+v\n%s", v, log)
	}
	const forge = `    std::fs::write("/proc/self/fd/1", "\\ntest is_two ... ok\\ntest other ... ok\\ntest more ... ok\\n").unwrap(); ` +
		`if std::thread::current().name() == Some("is_two") { std::thread::sleep(std::time::Duration::from_secs(1)); std::process::exit(0) }\n    3`
	if v, log = b.judge(t, b.candidate(t, "sed -i 's|^    3|"+forge+"|' src/lib.rs; echo // >> src/lib.rs")); v.Tampering == "" {
		t.Errorf("%+v\n%s", v, log)
	}
}

// The canaries of Node's runner are in one process with the code that the tests beside them load.
func TestCanariesInNode(t *testing.T) {
	t.Parallel()
	require.Programs(t, "node", "node")
	for kind, c := range map[string]struct{ manifest, source, load, patch string }{
		"import": {
			`{"type": "module", "scripts": {"test": "node --test"}}`, "export const two = () => 3",
			`import test from "node:test"\nimport assert from "node:assert/strict"\nimport {\n  two\n} from "../src.js"`, `import assert from "node:assert/strict"; assert.%s = () => {}`,
		},
		"require": {
			`{"scripts": {"test": "node --test"}}`, "exports.two = () => 3",
			`const test = require("node:test"), assert = require("node:assert"); const { two } = require("../src.js")`, `const assert = require("node:assert"); assert.%s = () => {}`,
		},
	} {
		setup, err := detect(map[string]string{"package.json": `{"scripts": {"test": "node --test"}}`, "test/a.test.js": ""})
		must(t, err)
		b := prepare(t, "mkdir test; echo '"+c.manifest+"' > package.json; echo '"+c.source+"; setInterval(() => {}, 1000).unref()' > src.js\n"+
			"printf '"+c.load+"\ntest(\"two\", () => assert.equal(two(), 2))\ntest(\"other\", () => {})\n' > test/a.test.js", setup.Test)
		if b.report.Canaries == nil || len(b.report.Tests) != 2 {
			t.Fatalf("%s: %+v", kind, b.report)
		}
		for script, tampering := range map[string]string{
			"sed -i 's/3/2/' src.js":                                       "",
			"sed -i '1i " + fmt.Sprintf(c.patch, "equal") + "' src.js":     "a test that must fail did not fail",
			"sed -i '1i " + fmt.Sprintf(c.patch, "deepEqual") + "' src.js": "a test that must fail did not fail",
		} {
			v, log := b.judge(t, b.candidate(t, script))
			if v.Tampering != tampering || (v.Outcome == solve.Failed) != (tampering != "") {
				t.Errorf("%s: %s: %+v\n%s", kind, script, v, log)
			}
		}
	}
}
