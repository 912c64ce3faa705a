package e2b

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// Config is the section sandbox.e2b of config.yml.
type Config struct {
	// The environment variable that holds the API key.
	APIKeyEnv string `yaml:"api_key_env"`
	// A file that holds the API key, read if the variable is empty; "" is none.
	APIKeyFile string `yaml:"api_key_file"`
	// The template that sandboxes start from; `yudai sandbox build e2b` makes it.
	Template string `yaml:"template"`
	// Processor cores of the template when it is built, 1 or an even number. A sandbox has what its template has.
	CPUs int `yaml:"cpus"`
	// Memory of the template when it is built, in MiB, an even number.
	MemoryMiB int `yaml:"memory_mib"`
	// The domain of the service: api.DOMAIN, and each sandbox at a name below it.
	Domain string `yaml:"domain"`
	// The control plane, if it is not api.DOMAIN.
	APIURL string `yaml:"api_url"`
	// One address for all sandboxes, if they have none below the domain.
	SandboxURL string `yaml:"sandbox_url"`
	// How long a sandbox lives on without a sign of life from yudai, 1m to 24h.
	Lease time.Duration `yaml:"lease"`
	// The price of a processor core, in US dollars per hour.
	USDPerCPUHour float64 `yaml:"usd_per_cpu_hour"`
	// The price of a GiB of memory, in US dollars per hour.
	USDPerGiBHour float64 `yaml:"usd_per_gib_hour"`
}

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		APIKeyEnv: "E2B_API_KEY", Template: "yudai", CPUs: 2, MemoryMiB: 2048, Domain: "e2b.app", Lease: 10 * time.Minute,
		USDPerCPUHour: 0.0504, USDPerGiBHour: 0.0162,
	}
}

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report setting.Report) {
	c.key().Validate(report)
	template := regexp.MustCompile(`^([a-z0-9_-]{1,128}/)?[a-z0-9_-]{1,128}(:[a-z0-9_.-]{1,128})?$`) // with or without its team and tag
	report.Unless(template.MatchString(c.Template), "template",
		fmt.Sprintf("%q is not a template's name: use a-z, 0-9, - and _, with :TAG if it has one", c.Template))
	report.Unless(c.CPUs == 1 || c.CPUs > 1 && c.CPUs <= 256 && c.CPUs%2 == 0, "cpus", "must be 1 or an even number up to 256")
	report.Unless(c.MemoryMiB >= 128 && c.MemoryMiB <= 1<<20 && c.MemoryMiB%2 == 0, "memory_mib", "must be an even number, 128 to 1048576")
	domain := regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[0-9]{1,5})?$`)
	report.Unless(domain.MatchString(c.Domain), "domain", fmt.Sprintf("%q is not a domain like e2b.app", c.Domain))
	report.Unless(c.APIURL == "" || cloud.IsURL(c.APIURL), "api_url", "must be a URL like https://HOST, or empty")
	report.Unless(c.SandboxURL == "" || cloud.IsURL(c.SandboxURL), "sandbox_url", "must be a URL like https://HOST, or empty")
	report.Unless(c.Lease >= time.Minute && c.Lease <= 24*time.Hour, "lease", "must be 1m to 24h")
	report.Price("usd_per_cpu_hour", c.USDPerCPUHour)
	report.Price("usd_per_gib_hour", c.USDPerGiBHour)
}

// section is where the settings are.
const section = "sandbox.e2b."

// key says where the API key is.
func (c Config) key() cloud.Key {
	return cloud.Key{Section: section, Env: c.APIKeyEnv, File: c.APIKeyFile, Make: "take one of your team"}
}

// apiBase is where the control plane answers, without a slash at the end.
func (c Config) apiBase() string {
	return strings.TrimRight(cmp.Or(c.APIURL, "https://api."+c.Domain), "/")
}

// sandboxBase is where the daemon of a sandbox answers. The domain of the
// sandbox's own record wins over the configured one.
func (c Config) sandboxBase(id, domain string) string {
	if c.SandboxURL != "" {
		return strings.TrimRight(c.SandboxURL, "/")
	}
	return fmt.Sprintf("https://%d-%s.%s", envdPort, id, cmp.Or(domain, c.Domain))
}

// hourly is what a sandbox of this size costs for an hour.
func (c Config) hourly(cpus, memoryMiB int) float64 {
	return float64(cpus)*c.USDPerCPUHour + float64(memoryMiB)/1024*c.USDPerGiBHour
}
