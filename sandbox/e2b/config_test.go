package e2b

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
	"github.com/yudai-dev/yudai/sandbox/records"
)

func TestDefaultConfigIsValid(t *testing.T) {
	t.Parallel()
	DefaultConfig().Validate(func(key, problem string) { t.Errorf("%s: %s", key, problem) })
}

func TestValidateReportsEveryKey(t *testing.T) {
	t.Parallel()
	c := Config{
		APIKeyEnv: "A B", APIKeyFile: "\x00", Template: "Upper Case", CPUs: 3, MemoryMiB: 129, Domain: "https://e2b.app",
		APIURL: "api.e2b.app", SandboxURL: "https://user@host", Lease: time.Second, USDPerCPUHour: -1, USDPerGiBHour: math.NaN(),
	}
	var got []string
	c.Validate(func(key, _ string) { got = append(got, key) })
	want := []string{
		"api_key_env", "api_key_file", "template", "cpus", "memory_mib", "domain", "api_url", "sandbox_url", "lease",
		"usd_per_cpu_hour", "usd_per_gib_hour",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := New(c, nil, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "sandbox.e2b.template") {
		t.Errorf("New: %v, want the keys", err)
	}
}

// TestKey: where the key is looked for, and what is said where there is none.
func TestKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("e2b_from_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(string) string { return "e2b_from_env" }
	none := func(string) string { return "" }
	for _, c := range []struct {
		name   string
		config Config
		getenv func(string) string
		want   string
		says   string
	}{
		{"the variable wins", Config{APIKeyEnv: "K", APIKeyFile: file}, env, "e2b_from_env", ""},
		{"the file", Config{APIKeyEnv: "K", APIKeyFile: file}, none, "e2b_from_file", ""},
		{"none", Config{APIKeyEnv: "MY_KEY"}, none, "", "put it into the environment variable MY_KEY (sandbox.e2b.api_key_env)"},
		{"nowhere", Config{}, none, "", "sandbox.e2b.api_key_file"},
		{"no file", Config{APIKeyFile: file + "x"}, none, "", "sandbox.e2b.api_key_file"},
		{"two lines", Config{APIKeyEnv: "K"}, func(string) string { return "e2b_a\ne2b_b" }, "", "characters that no key has"},
	} {
		got, err := c.config.key().Read(c.getenv)
		switch {
		case c.says == "" && (err != nil || got != c.want):
			t.Errorf("%s: %q, %v", c.name, got, err)
		case c.says != "" && (!errors.Is(err, sandbox.ErrSetting) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v, want ErrSetting and %q", c.name, err, c.says)
		case err != nil && strings.Contains(err.Error(), "e2b_a"):
			t.Errorf("%s: the error shows the key: %v", c.name, err)
		}
	}
}

func TestNewWithoutKey(t *testing.T) {
	t.Parallel()
	book, err := records.Open(t.TempDir(), "e2b")
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	c.APIKeyEnv = "YUDAI_NO_SUCH_KEY"
	if _, err := New(c, book, zerolog.Nop()); !errors.Is(err, sandbox.ErrSetting) || !strings.Contains(err.Error(), "YUDAI_NO_SUCH_KEY") {
		t.Errorf("New: %v", err)
	}
}

// TestAddresses: the domain of the answer wins over the configured one, and an
// override over both.
func TestAddresses(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	for _, f := range []struct{ got, want string }{
		{c.apiBase(), "https://api.e2b.app"},
		{c.sandboxBase("ix", ""), "https://49983-ix.e2b.app"},
		{c.sandboxBase("ix", "eu.example.org"), "https://49983-ix.eu.example.org"},
		{Config{Domain: "d.example", APIURL: "http://h:1/"}.apiBase(), "http://h:1"},
		{Config{Domain: "d.example"}.apiBase(), "https://api.d.example"},
		{Config{Domain: "d.example", SandboxURL: "http://h:2/"}.sandboxBase("ix", "other"), "http://h:2"},
	} {
		if f.got != f.want {
			t.Errorf("got %s, want %s", f.got, f.want)
		}
	}
}

func TestHourly(t *testing.T) {
	t.Parallel()
	if got := DefaultConfig().hourly(2, 2048); math.Abs(got-0.1332) > 1e-9 {
		t.Errorf("2 processors and 2 GiB cost %v an hour, want 0.1332", got)
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for version, fine := range map[string]bool{
		"0.5.13": true, "0.6.0": true, "0.10.1": true, "1.0.0": true, "v0.6.13": true, "0.6.13-beta": true,
		"0.5.12": false, "0.5.7": false, "0.4.99": false, "": false, "new": false,
	} {
		err := checkVersion("mine", version)
		if (err == nil) != fine {
			t.Errorf("%q: %v", version, err)
		}
		if err != nil && (!errors.Is(err, sandbox.ErrSetting) || !strings.Contains(err.Error(), "0.5.13") || !strings.Contains(err.Error(), "yudai sandbox build e2b")) {
			t.Errorf("%q: %v, want the version needed and the fix", version, err)
		}
	}
}

func TestSpecIsChecked(t *testing.T) {
	t.Parallel()
	n := rules([]string{"*.a.example", "b.example"})
	if d := cmp.Diff(network{AllowOut: []string{"*.a.example", "b.example"}, DenyOut: []string{"0.0.0.0/0"}}, n); d != "" {
		t.Error(d)
	}
	m := machine{CPUs: 2, MemoryMiB: 1024, DiskMiB: 10240}
	for _, l := range []sandbox.Limits{{CPUs: 2.5}, {Memory: 2 << 30}, {Disk: 11 << 30}} {
		if err := checkLimits(l, m); !errors.Is(err, sandbox.ErrLimit) {
			t.Errorf("%+v: %v, want ErrLimit", l, err)
		}
	}
	if err := checkLimits(sandbox.Limits{CPUs: 2, Memory: 1 << 30, Disk: 1 << 30, Processes: 100}, m); err != nil {
		t.Error(err)
	}
}
