package judge_test

import (
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
}
