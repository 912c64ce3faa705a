package patch_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/patch"
	"github.com/yudai-dev/yudai/solve"
)

func TestCheckFlagsSecrets(t *testing.T) {
	t.Parallel()
	token := "ghp_" + strings.Repeat("a1B2", 9)
	for line, want := range map[string]bool{
		"+token = '" + token + "'":                            true,
		"+AKIA" + strings.Repeat("Q", 16):                     true,
		"+-----BEGIN RSA PRIVATE " + "KEY-----":               true,
		"+yudai-run-" + strings.Repeat("a7", 26):              true,
		"+key: sk-ant-" + strings.Repeat("x", 40):             true,
		"-token = '" + token + "'":                            false, // removed
		"+ghp_short":                                          false,
		"+sha: 4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258": false,
		"+-----BEGIN PUBLIC KEY-----":                         false,
		"+a task-" + strings.Repeat("x", 40):                  false,
	} {
		hunk := "@@ -1 +1,2 @@\n a\n"
		if line[0] == '-' {
			hunk = "@@ -1,2 +1 @@\n a\n"
		}
		text := []byte("diff --git a/x.env b/x.env\nindex 1111111..2222222 100644\n--- a/x.env\n+++ b/x.env\n" + hunk + line + "\n")
		changes, err := patch.Parse(text)
		if err != nil {
			t.Fatal(line, err)
		}
		flags, refused := patch.Check(patch.Difference{Changes: changes, Text: text}, solve.PatchRules{})
		if got := slices.Contains(flags, "adds what looks like a secret: x.env"); got != want || refused != "" {
			t.Errorf("%q: flags %q, refused %q", line, flags, refused)
		}
		if strings.Contains(strings.Join(flags, ""), token) {
			t.Errorf("a flag tells the secret: %q", flags)
		}
	}
}
