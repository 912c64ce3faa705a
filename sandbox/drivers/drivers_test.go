package drivers_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox/drivers"
)

func TestDefaultConfigIsValid(t *testing.T) {
	t.Parallel()
	drivers.DefaultConfig().Validate(func(key, problem string) { t.Errorf("%s: %s", key, problem) })
}

// configured are settings with which every driver can be made, though not used. The test
// sets variables, so it does not run in parallel.
func configured(t *testing.T) drivers.Config {
	t.Helper()
	c := drivers.DefaultConfig()
	c.Local.Dir, c.Records, c.Docker.ProxyDir = t.TempDir(), t.TempDir(), t.TempDir()
	c.Prime.Image = "example.org/yudai:1"
	t.Setenv(c.E2B.APIKeyEnv, "e2b_0123456789")
	t.Setenv(c.Prime.APIKeyEnv, "pit_0123456789")
	return c
}

func TestNewMakesEveryNamedDriver(t *testing.T) {
	c := configured(t)
	for _, name := range drivers.Names() {
		c.Driver = name
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

// TestMissingKeysAreToldTogether: with the settings that name them, and only for drivers
// that are used.
func TestMissingKeysAreToldTogether(t *testing.T) {
	c := configured(t)
	t.Setenv(c.E2B.APIKeyEnv, "")
	t.Setenv(c.Prime.APIKeyEnv, "")
	if _, err := drivers.NewSet(c, zerolog.Nop(), nil); err != nil {
		t.Errorf("drivers that are not used need no key: %v", err)
	}
	c.Choices, c.Fallback = []string{"e2b"}, "prime"
	_, err := drivers.NewSet(c, zerolog.Nop(), nil)
	if err == nil || !strings.Contains(err.Error(), "sandbox.e2b.api_key_env") || !strings.Contains(err.Error(), "sandbox.prime.api_key_env") {
		t.Errorf("the error %v should name both settings", err)
	}
}

// TestTraitsAreForPeople: each line for docs and messages is there, and the memory's key exists.
func TestTraitsAreForPeople(t *testing.T) {
	c := configured(t)
	keys := keysOf(reflect.TypeFor[drivers.Config](), "sandbox.")
	for _, name := range drivers.Names() {
		c.Driver = name
		d, err := drivers.New(c, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		tr := d.Traits()
		for what, text := range map[string]string{"isolation": tr.Isolation, "limits": tr.Limits, "start": tr.Start, "cost": tr.Cost} {
			if text == "" || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s: %s is %q", name, what, text)
			}
		}
		if tr.Name != name || !slices.Contains(keys, tr.MemoryKey) {
			t.Errorf("%s: called %q, its memory is set by %q", name, tr.Name, tr.MemoryKey)
		}
	}
}

// keysOf lists the keys of a section's struct.
func keysOf(typ reflect.Type, path string) (keys []string) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, keysOf(f.Type, path+f.Tag.Get("yaml")+".")...)
			continue
		}
		keys = append(keys, path+f.Tag.Get("yaml"))
	}
	return keys
}
