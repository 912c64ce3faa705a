package cmd

import (
	"path/filepath"
	"testing"

	"github.com/yudai-dev/yudai/server"
)

// TestRigsHaveAStoreOfTheirOwn: what `yudai solve` tries does not go into the operator's database.
func TestRigsHaveAStoreOfTheirOwn(t *testing.T) {
	t.Parallel()
	cfg := server.Default()
	cfg.Store.Engine, cfg.Store.Path = "postgres", "/operator/yudai.db"
	r := &rig{dir: t.TempDir()}
	got := r.configure(cfg).Store
	if got.Engine != "bolt" || got.Path != filepath.Join(r.dir, "store", "yudai.db") {
		t.Errorf("%+v", got)
	}
}
