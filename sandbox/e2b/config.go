package e2b

import (
	"fmt"
	"regexp"
	"strings"
	"time"

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

const (
	minLease = time.Minute
	maxLease = 24 * time.Hour
)

// DefaultConfig returns the documented defaults.
func DefaultConfig() Config {
	return Config{
		APIKeyEnv: "E2B_API_KEY", Template: "yudai", CPUs: 2, MemoryMiB: 2048, Domain: "e2b.app", Lease: 10 * time.Minute,
		USDPerCPUHour: 0.0504, USDPerGiBHour: 0.0162,
	}
}

// templateRule is a template's name or id, with or without its team and tag.
func templateRule() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z0-9_-]{1,128}/)?[a-z0-9_-]{1,128}(:[a-z0-9_.-]{1,128})?$`)
}

func domainRule() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[0-9]{1,5})?$`)
}

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report func(key, problem string)) {
	if c.APIKeyEnv != "" && strings.ContainsAny(c.APIKeyEnv, "= \t\n\x00") {
		report("api_key_env", fmt.Sprintf("%q is not the name of a variable", c.APIKeyEnv))
	}
	if strings.ContainsRune(c.APIKeyFile, 0) {
		report("api_key_file", "is not the name of a file")
	}
	if !templateRule().MatchString(c.Template) {
		report("template", fmt.Sprintf("%q is not a template's name: use a-z, 0-9, - and _, with :TAG if it has one", c.Template))
	}
	if c.CPUs < 1 || c.CPUs > 256 || (c.CPUs > 1 && c.CPUs%2 != 0) {
		report("cpus", "must be 1 or an even number up to 256")
	}
	if c.MemoryMiB < 128 || c.MemoryMiB > 1<<20 || c.MemoryMiB%2 != 0 {
		report("memory_mib", "must be an even number, 128 to 1048576")
	}
	if !domainRule().MatchString(c.Domain) {
		report("domain", fmt.Sprintf("%q is not a domain like e2b.app", c.Domain))
	}
	for _, u := range []struct{ key, text string }{{"api_url", c.APIURL}, {"sandbox_url", c.SandboxURL}} {
		if u.text != "" && !cloud.IsURL(u.text) {
			report(u.key, "must be a URL like https://HOST, or empty")
		}
	}
	if c.Lease < minLease || c.Lease > maxLease {
		report("lease", "must be 1m to 24h")
	}
	for _, p := range []struct {
		key string
		usd float64
	}{{"usd_per_cpu_hour", c.USDPerCPUHour}, {"usd_per_gib_hour", c.USDPerGiBHour}} {
		if !cloud.IsPrice(p.usd) {
			report(p.key, "must be 0 to 1000")
		}
	}
}

// section is where the settings are.
const section = "sandbox.e2b."

// key says where the API key is.
func (c Config) key() cloud.Key {
	return cloud.Key{Section: section, Env: c.APIKeyEnv, File: c.APIKeyFile, Make: "take one of your team"}
}

// apiBase is where the control plane answers, without a slash at the end.
func (c Config) apiBase() string {
	if c.APIURL != "" {
		return strings.TrimRight(c.APIURL, "/")
	}
	return "https://api." + c.Domain
}

// sandboxBase is where the daemon of a sandbox answers. The domain of the
// sandbox's own record wins over the configured one.
func (c Config) sandboxBase(id, domain string) string {
	if c.SandboxURL != "" {
		return strings.TrimRight(c.SandboxURL, "/")
	}
	if domain == "" {
		domain = c.Domain
	}
	return fmt.Sprintf("https://%d-%s.%s", envdPort, id, domain)
}

// hourly is what a sandbox of this size costs for an hour.
func (c Config) hourly(cpus, memoryMiB int) float64 {
	return float64(cpus)*c.USDPerCPUHour + float64(memoryMiB)/1024*c.USDPerGiBHour
}
