package judge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/require"
	"github.com/yudai-dev/yudai/test/toolcache"
)

// pytestFiles is a tar of pytest and what it needs.
func pytestFiles(ctx context.Context) ([]byte, error) {
	lock, err := filepath.Abs("testdata/pytest.lock")
	if err != nil {
		return nil, err
	}
	python, key, err := toolcache.Python(ctx)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	dir, err := toolcache.Dir("judge-pytest", append(key, data...), func(dir string) error {
		_, err := toolcache.Run(ctx, "", python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile",
			"--only-binary", ":all:", "--require-hashes", "--requirement", lock, "--target", filepath.Join(dir, "site"))
		return err
	})
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, "tar", "-C", filepath.Join(dir, "site"), "-cf", "-", ".").Output()
}

// pytestImage is a base without a repository in which pytest is installed as yudai installs it.
var pytestImage = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	d, err := driver()
	if err != nil {
		return "", err
	}
	files, err := pytestFiles(ctx)
	if err != nil {
		return "", err
	}
	sb, err := d.Open(ctx, sandbox.Spec{Name: "pytest"})
	if err != nil {
		return "", err
	}
	defer sb.Close(ctx)
	if err := sb.Put(ctx, "/tmp/pytest.tar", bytes.NewReader(files), 0o600); err != nil {
		return "", err
	}
	const install = `python3 -m venv --without-pip ` + sandbox.VenvDir + ` && tar -C ` + sandbox.VenvDir + `/lib/python3*/site-packages -xf /tmp/pytest.tar && ` +
		sandbox.VenvDir + `/bin/python3 -m pytest --version`
	if out, res, err := sandbox.Output(ctx, sb, sandbox.Command{Shell: install}); err != nil || res.ExitCode != 0 {
		return "", errors.Join(err, fmt.Errorf("exit %d: %s", res.ExitCode, out))
	}
	return d.Freeze(ctx, sb)
})

func withPytest(t *testing.T) string {
	t.Helper()
	open(t, "") // skips where there is no sandbox
	image, err := pytestImage()
	require.Need(t, "pip", err)
	return image
}
