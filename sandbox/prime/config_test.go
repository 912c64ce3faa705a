package prime_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/prime"
)

func TestDefaultConfigIsValid(t *testing.T) {
	t.Parallel()
	prime.DefaultConfig().Validate(func(key, problem string) { t.Errorf("%s: %s", key, problem) })
}

func TestValidateReportsEveryKey(t *testing.T) {
	t.Parallel()
	c := prime.Config{
		APIKeyEnv: "a b", APIKeyFile: "a\nb", APIURL: "ftp://x", TeamID: "a/b", Region: "a b", Image: "a b",
		Limits: prime.Limits{CPUs: 0.05, MemoryGB: math.NaN(), DiskGB: 2000}, IdleTime: time.Second, Checkpoints: "on",
		USDPerCoreHour: -1, USDPerGBHour: math.Inf(1), USDPerDiskGBHour: math.NaN(),
	}
	var got []string
	c.Validate(func(key, _ string) { got = append(got, key) })
	want := []string{
		"api_key_env", "api_key_file", "api_url", "team_id", "region", "image", "limits.cpus", "limits.memory_gb", "limits.disk_gb",
		"start_time", "build_time", "max_life", "idle_time", "checkpoints", "usd_per_core_hour", "usd_per_gb_hour", "usd_per_disk_gb_hour",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := prime.NewTest(c, book(t, t.TempDir()), zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "sandbox.prime.limits.cpus") {
		t.Errorf("New: %v, want the keys", err)
	}
}

// TestNewNamesWhatIsMissing: without key or image the message says where they belong.
func TestNewNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("of-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*prime.Config)
		says   []string
	}{
		{func(c *prime.Config) { c.APIKeyEnv = "YUDAI_NO_SUCH_KEY" }, []string{"YUDAI_NO_SUCH_KEY", "sandbox.prime.api_key_env", "sandbox.prime.image", "Dockerfile"}},
		{func(c *prime.Config) { c.APIKeyEnv = "" }, []string{"sandbox.prime.api_key_file", "sandbox.prime.api_key_env"}},
		{func(c *prime.Config) { c.APIKeyEnv, c.APIKeyFile = "", file+"x" }, []string{"sandbox.prime.api_key_file"}},
		{func(c *prime.Config) { c.APIKeyEnv, c.APIKeyFile = "", file }, []string{"sandbox.prime.image"}},
		{func(c *prime.Config) { c.APIKeyEnv, c.APIKeyFile, c.Image = "", file, "x/y:1" }, nil},
		{func(c *prime.Config) { c.APIKeyEnv, c.Image = keyEnv, "x/y:1" }, nil},
	} {
		conf := prime.DefaultConfig()
		c.change(&conf)
		_, err := prime.NewTest(conf, book(t, t.TempDir()), zerolog.Nop())
		if len(c.says) == 0 && err != nil {
			t.Errorf("%+v: %v", conf, err)
		}
		for _, want := range c.says {
			if !errors.Is(err, sandbox.ErrSetting) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not say %q", err, want)
			}
		}
		if err != nil && strings.Contains(err.Error(), "of-a-file") {
			t.Errorf("the key is in %v", err)
		}
	}
}

func TestTraits(t *testing.T) {
	t.Parallel()
	d := driver(t, "http://service.invalid/api/v1/", t.TempDir(), func(c *prime.Config) { c.Checkpoints = "off" })
	got := d.Traits()
	if got.Fork || !got.Machine || !got.Network || got.Proxy || !got.Egress || !got.Attach || len(got.Notes) != 1 || !strings.Contains(got.Cost, "0.15 USD") {
		t.Errorf("%+v", got)
	}
}
