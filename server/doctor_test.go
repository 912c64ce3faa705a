package server_test

import (
	"slices"
	"testing"

	"github.com/yudai-dev/yudai/server"
)

// TestDoctorLooksAtTheConnectionString: it holds a password, so not every user of the machine may read its file.
func TestDoctorLooksAtTheConnectionString(t *testing.T) {
	t.Parallel()
	const file = "/etc/yudai/dsn"
	if d := server.NewDoctor("", one("YUDAI_STORE_DSN_FILE", file)); !slices.Contains(d.SecretFiles, file) {
		t.Errorf("%q", d.SecretFiles)
	}
}
