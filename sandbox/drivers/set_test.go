package drivers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/drivers"
)

// problems lists what is wrong with a section, by key.
func problems(c drivers.Config) map[string]string {
	found := map[string]string{}
	c.Validate(func(key, problem string) { found[key] = problem })
	return found
}

// TestDriversAreNamedRightly: what is wrong is told with its key and the valid names.
func TestDriversAreNamedRightly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*drivers.Config)
		key    string
		text   string
	}{
		"driver":          {func(c *drivers.Config) { c.Driver = "chroot" }, "driver", "local"},
		"choice":          {func(c *drivers.Config) { c.Choices = []string{"local", "chroot"} }, "choices.1", "local"},
		"choice twice":    {func(c *drivers.Config) { c.Choices = []string{"local", "local"} }, "choices.1", "twice"},
		"fallback":        {func(c *drivers.Config) { c.Fallback = "chroot" }, "fallback", "local"},
		"its own":         {func(c *drivers.Config) { c.Fallback = "local" }, "fallback", "itself"},
		"records nowhere": {func(c *drivers.Config) { c.Records = "" }, "records", "directory"},
		"local":           {func(c *drivers.Config) { c.Local.UID = 0 }, "local.uid", "user id"},
	} {
		config := drivers.DefaultConfig()
		c.change(&config)
		if found := problems(config); len(found) != 1 || !strings.Contains(found[c.key], c.text) {
			t.Errorf("%s: %v", name, found)
		}
	}
}

// TestSetMakesWhatIsUsed, once each, and nothing else.
func TestSetMakesWhatIsUsed(t *testing.T) {
	t.Parallel()
	c := drivers.DefaultConfig()
	c.Local.Dir, c.Records, c.Choices = t.TempDir(), t.TempDir(), []string{"local"}
	wrapped := 0
	set, err := drivers.NewSet(c, zerolog.Nop(), func(d sandbox.Driver) sandbox.Driver { wrapped++; return d })
	if err != nil {
		t.Fatal(err)
	}
	byDefault, ok := set.Of("")
	named, known := set.Of("local")
	if !ok || !known || byDefault != named || wrapped != 1 || len(set.All()) != 1 {
		t.Errorf("%d drivers, wrapped %d", len(set.All()), wrapped)
	}
	if _, ok := set.Of("chroot"); ok || !slices.Equal(set.Names(), []string{"local"}) || !slices.Equal(set.Used(), []string{"local"}) {
		t.Errorf("offered %q, used %q", set.Names(), set.Used())
	}
}

// TestOfferedAndUsed: the one that takes over is made, and is nobody's choice.
func TestOfferedAndUsed(t *testing.T) {
	t.Parallel()
	c := drivers.Config{Driver: "a", Choices: []string{"b", "a"}, Fallback: "c"}
	if !slices.Equal(c.Offered(), []string{"a", "b"}) || !slices.Equal(c.Used(), []string{"a", "b", "c"}) {
		t.Errorf("offered %q, used %q", c.Offered(), c.Used())
	}
}
