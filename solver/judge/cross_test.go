package judge_test

import (
	"context"
	"slices"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/solver/judge"
)

// TestCross: what the tests of one candidate say of another one, in real sandboxes.
func TestCross(t *testing.T) {
	t.Parallel()
	const module = "printf 'module m\\n\\ngo 1.21\\n' > go.mod\n"
	b := prepareFrom(t, warmGo(t), module+
		"printf 'package m\\n\\nfunc Mean(xs []int) int { n := 0; for _, x := range xs { n += x }; return n / len(xs) }\\n' > m.go\n"+
		"printf 'package m\\n\\nimport \"testing\"\\n\\nfunc TestMean(t *testing.T) { if Mean([]int{1, 3}) != 2 { t.Fatal() } }\\n' > m_test.go\n",
		solve.TestCommand{Command: "go test -json ./...", Format: "go"})
	const fix = "sed -i 's/n := 0;/if len(xs) == 0 { return 0 }; n := 0;/' m.go\n"
	const test = "printf 'package m\\n\\nimport \"testing\"\\n\\nfunc TestNothing(t *testing.T) { if Mean(nil) != 0 { t.Fatal() } }\\n' > new_test.go\n"
	author := b.candidate(t, fix+"printf '\\nfunc helper() int { return 0 }\\n' >> m.go\n"+test)
	proved, log := b.judge(t, author)
	if !slices.Equal(proved.ProofTests, []string{"m.TestNothing"}) || proved.ProofCommand != "go test -json -run '^(TestNothing)$' ./." {
		t.Fatalf("author: %+v\n%s", proved, log)
	}
	for name, c := range map[string]struct {
		subject        string
		passed, failed []string
	}{
		"another fix":              {"sed -i 's/return n/if n == 0 { return 0 }; return n/' m.go\n", []string{"m.TestNothing"}, nil},
		"no fix":                   {"printf '\\nvar x = 1\\n' >> m.go\n", nil, []string{"m.TestNothing"}},
		"a test file of that name": {fix + "printf 'package m\\n\\nvar y = 2\\n' > new_test.go\n", []string{"m.TestNothing"}, nil},
		"a name that clashes":      {fix + "printf '\\nfunc TestNothing() {}\\n' >> m.go\n", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := judge.CrossInput{
				Input: b.candidate(t, c.subject), AuthorPatch: author.Patch, Tests: proved.ProofTests, Command: proved.ProofCommand,
			}
			in.Open = func(context.Context) (sandbox.Sandbox, func(), error) {
				sb := open(t, b.image)
				return sb, func() { must(t, sb.Close(context.Background())) }, nil
			}
			got, log, err := judge.Cross(t.Context(), in)
			must(t, err)
			if !slices.Equal(got.Passed, c.passed) || !slices.Equal(got.Failed, c.failed) {
				t.Errorf("%+v\n%s", got, log)
			}
		})
	}
}
