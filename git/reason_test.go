package git

import (
	"strings"
	"testing"
)

func TestReasonIsRedactedAndCut(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"ghs_abcdefghijklmnopqrstuvwxyz0123456789", "ghs_12_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOi-x.sig-nature_x",
		"ghp_abcdefghijklmnop", "github_pat_11ABC_def", "Basic eC1hY2Nlc3MtdG9rZW46c2VjcmV0", "Bearer abcdefghijklmnop",
		"https://x-access-token:sesame@github.com/o/r",
	} {
		got := reason("fatal: unable to access '" + secret + "': no\n")
		for _, part := range []string{"ghs_", "ghp_", "github_pat", "eC1hY2", "abcdefghijklmnop", "sesame", "eyJ"} {
			if strings.Contains(got, part) {
				t.Errorf("%q became %q", secret, got)
			}
		}
	}
	got := reason("fatal: one\x1b[31m\x00\xff\nhint: two\r\n" + strings.Repeat("x", 5000))
	if !strings.HasPrefix(got, "fatal: one[31m; hint: two; xxx") || len(got) > maxReason+3 {
		t.Errorf("reason = %q (%d bytes)", got[:60], len(got))
	}
}
