package drivers_test

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox/drivers"
)

func TestDefaultConfigIsValid(t *testing.T) {
	t.Parallel()
	drivers.DefaultConfig().Validate(func(key, problem string) { t.Errorf("%s: %s", key, problem) })
}

func TestNewMakesEveryNamedDriver(t *testing.T) {
	t.Parallel()
	for _, name := range drivers.Names() {
		c := drivers.DefaultConfig()
		c.Driver, c.Local.Dir = name, t.TempDir()
		d, err := drivers.New(c, zerolog.Nop())
		if err != nil || d == nil {
			t.Errorf("New(%s) = %v, %v", name, d, err)
		}
	}
}

func TestUnknownDriverNamesSettingAndValues(t *testing.T) {
	t.Parallel()
	c := drivers.DefaultConfig()
	c.Driver = "chroot"
	_, err := drivers.New(c, zerolog.Nop())
	if err == nil || !strings.Contains(err.Error(), "sandbox.driver") || !strings.Contains(err.Error(), "local") {
		t.Errorf("error %v should name the setting and the valid values", err)
	}
	var keys []string
	c.Local.Limits.MemoryMiB = 0
	c.Validate(func(key, _ string) { keys = append(keys, key) })
	if got := strings.Join(keys, " "); got != "driver local.limits.memory_mib" {
		t.Errorf("reported keys %q", got)
	}
}
