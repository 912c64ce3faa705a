package e2b

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// Config is the section sandbox.e2b of config.yml.
type Config struct {
	// APIKeyEnv and APIKeyFile say where the key is found; the environment wins.
	APIKeyEnv  string `yaml:"api_key_env"`
	APIKeyFile string `yaml:"api_key_file"`
	// Template is what sandboxes start from; `yudai sandbox build e2b` makes it.
	Template string `yaml:"template"`
	// CPUs and MemoryMiB are given to the template when it is built: a sandbox has
	// what its template has.
	CPUs      int `yaml:"cpus"`
	MemoryMiB int `yaml:"memory_mib"`
	// Domain is where the service is: api.DOMAIN, and each sandbox at a name below it.
	Domain string `yaml:"domain"`
	// APIURL and SandboxURL replace what follows from Domain; empty keeps it.
	APIURL     string `yaml:"api_url"`
	SandboxURL string `yaml:"sandbox_url"`
	// Lease is how long a sandbox outlives the last sign of life from yudai.
	Lease time.Duration `yaml:"lease"`
	// What the plan asks for one processor core and one GiB of memory for an hour.
	USDPerCPUHour float64 `yaml:"usd_per_cpu_hour"`
	USDPerGiBHour float64 `yaml:"usd_per_gib_hour"`
}

const (
	minLease = time.Minute
	maxLease = 24 * time.Hour
	// maxUSD catches a slip of the hand.
	maxUSD = 1000
	// maxKey is more than any key has, in bytes.
	maxKey = 4096
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
	checkURL(c.APIURL, "api_url", report)
	checkURL(c.SandboxURL, "sandbox_url", report)
	if c.Lease < minLease || c.Lease > maxLease {
		report("lease", "must be 1m to 24h")
	}
	checkUSD(c.USDPerCPUHour, "usd_per_cpu_hour", report)
	checkUSD(c.USDPerGiBHour, "usd_per_gib_hour", report)
}

func checkUSD(usd float64, key string, report func(key, problem string)) {
	if !(usd >= 0 && usd <= maxUSD) { // true for NaN
		report(key, "must be 0 to 1000")
	}
}

// checkURL accepts nothing, or the root of a server.
func checkURL(text, key string, report func(key, problem string)) {
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		report(key, "must be a URL like https://HOST, or empty")
	}
}

// readKey finds the API key. Its error names the setting and the fix.
func (c Config) readKey(getenv func(string) string) (string, error) {
	key := ""
	if c.APIKeyEnv != "" {
		key = getenv(c.APIKeyEnv)
	}
	if key == "" && c.APIKeyFile != "" {
		data, err := os.ReadFile(c.APIKeyFile)
		if err != nil {
			return "", fmt.Errorf("%w: sandbox.e2b.api_key_file: %w", sandbox.ErrSetting, err)
		}
		key = string(data)
	}
	key = strings.TrimSpace(key)
	if key == "" {
		return "", fmt.Errorf("%w: the driver e2b has no key: %s", sandbox.ErrSetting, c.keyFix())
	}
	if len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%w: the key of the driver e2b has characters that no key has: %s", sandbox.ErrSetting, c.keyFix())
	}
	return key, nil
}

// keyFix says where the key belongs.
func (c Config) keyFix() string {
	if c.APIKeyEnv == "" {
		return "write one into the file that sandbox.e2b.api_key_file names, or name a variable with sandbox.e2b.api_key_env"
	}
	return "set the variable " + c.APIKeyEnv + " (sandbox.e2b.api_key_env) to a key of your team"
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
