package prime

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// Config is the section sandbox.prime of config.yml.
type Config struct {
	// The environment variable that holds the API key.
	APIKeyEnv string `yaml:"api_key_env"`
	// A file that holds the API key, read if the variable is empty; "" is none.
	APIKeyFile string `yaml:"api_key_file"`
	// The service's address without /api/v1; "" is the public one.
	APIURL string `yaml:"api_url"`
	// The team that owns the sandboxes; "" is the key's owner.
	TeamID string `yaml:"team_id"`
	// The region of sandboxes; "" lets the service choose.
	Region string `yaml:"region"`
	// The image of every sandbox, with bash, git and coreutils: a public one, such as sandbox/docker/image/Dockerfile pushed to
	// your registry, or one that was built at the service. There is no default, and the driver needs one.
	Image string `yaml:"image"`
	// The size of one sandbox's machine.
	Limits Limits `yaml:"limits"`
	// How long a sandbox may take until it answers, without the build of its image.
	StartTime time.Duration `yaml:"start_time"`
	// How long the service may take to build an image that it sees for the first time.
	BuildTime time.Duration `yaml:"build_time"`
	// The longest life of a sandbox, 1m to 24h. The sandbox ends then, whatever runs in it.
	MaxLife time.Duration `yaml:"max_life"`
	// Ends a sandbox that nobody used for this long; 0s is never.
	IdleTime time.Duration `yaml:"idle_time"`
	// Whether prepared sandboxes are frozen: auto (if the service offers it) or off.
	Checkpoints string `yaml:"checkpoints"`
	// The price of a processor core, in US dollars per hour.
	USDPerCoreHour float64 `yaml:"usd_per_core_hour"`
	// The price of a GB of memory, in US dollars per hour.
	USDPerGBHour float64 `yaml:"usd_per_gb_hour"`
	// The price of a GB of disk, in US dollars per hour.
	USDPerDiskGBHour float64 `yaml:"usd_per_disk_gb_hour"`
}

// Limits are the size of one sandbox's machine.
type Limits struct {
	// Processor cores, 0.1 to 16.
	CPUs float64 `yaml:"cpus"`
	// Memory in GB, 0.1 to 64.
	MemoryGB float64 `yaml:"memory_gb"`
	// Disk in GB, 0.1 to 1000.
	DiskGB float64 `yaml:"disk_gb"`
}

// Values of Config.Checkpoints.
const (
	checkpointsAuto = "auto"
	checkpointsOff  = "off"
)

// What the service offers.
const (
	mostMinutes = 1440
	mostHosts   = 256
)

// DefaultConfig returns the documented defaults. They hold no image: there is no
// public one with git that could be promised to stay.
func DefaultConfig() Config {
	return Config{
		APIKeyEnv: "PRIME_API_KEY",
		Limits:    Limits{CPUs: 2, MemoryGB: 4, DiskGB: 10},
		StartTime: 6 * time.Minute, BuildTime: 50 * time.Minute, MaxLife: 24 * time.Hour, IdleTime: 2 * time.Hour,
		Checkpoints:    checkpointsAuto,
		USDPerCoreHour: 0.05, USDPerGBHour: 0.01, USDPerDiskGBHour: 0.001,
	}
}

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report setting.Report) {
	c.key().Validate(report)
	report.Unless(c.APIURL == "" || cloud.IsURL(c.APIURL), "api_url",
		"must be an http or https address without user, query and fragment, or empty")
	word := regexp.MustCompile(`^[A-Za-z0-9_.-]{0,64}$`)
	report.Unless(word.MatchString(c.TeamID), "team_id", "must be the id of a team (letters and digits), or empty")
	report.Unless(word.MatchString(c.Region), "region", "must be the name of a region, or empty")
	image := regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._/:@-]{0,254})?$`)
	report.Unless(image.MatchString(c.Image), "image", "must be the reference of an image, such as registry.example.org/yudai:1, or empty")
	for _, size := range c.Limits.sizes() {
		report.Unless(size.fits(), size.key, fmt.Sprintf("must be 0.1 to %g", size.most))
	}
	report.Unless(c.StartTime >= time.Second && c.StartTime <= time.Hour, "start_time", "must be 1s to 1h")
	report.Unless(c.BuildTime >= time.Second && c.BuildTime <= 6*time.Hour, "build_time", "must be 1s to 6h")
	life := func(d time.Duration) bool { return d >= time.Minute && d <= mostMinutes*time.Minute }
	report.Unless(life(c.MaxLife), "max_life", "must be 1m to 24h")
	report.Unless(c.IdleTime == 0 || life(c.IdleTime), "idle_time", "must be 1m to 24h, or 0 for never")
	known := c.Checkpoints == checkpointsAuto || c.Checkpoints == checkpointsOff
	report.Unless(known, "checkpoints", fmt.Sprintf("%q is not one of auto, off", c.Checkpoints))
	report.Price("usd_per_core_hour", c.USDPerCoreHour)
	report.Price("usd_per_gb_hour", c.USDPerGBHour)
	report.Price("usd_per_disk_gb_hour", c.USDPerDiskGBHour)
}

// section is where the settings are.
const section = "sandbox.prime."

// size is one measure of a machine, and its setting.
type size struct {
	what, unit, key string
	value, most     float64
}

// fits reports whether the service offers it.
func (s size) fits() bool { return s.value >= 0.1 && s.value <= s.most } // false for NaN

func (l Limits) sizes() []size {
	return []size{
		{"processors", "cores", "limits.cpus", l.CPUs, 16},
		{"memory", "GB", "limits.memory_gb", l.MemoryGB, 64},
		{"disk", "GB", "limits.disk_gb", l.DiskGB, 1000},
	}
}

// merge gives the size for a spec: what it asks for, else the defaults.
func (l Limits) merge(s sandbox.Limits) (Limits, error) {
	if s.Memory > 0 {
		l.MemoryGB = gigabytes(s.Memory)
	}
	if s.CPUs > 0 {
		l.CPUs = s.CPUs
	}
	if s.Disk > 0 {
		l.DiskGB = gigabytes(s.Disk)
	}
	for _, size := range l.sizes() {
		if !size.fits() {
			return l, fmt.Errorf("%w: %v %s of %s: Prime offers 0.1 to %g; set %s%s",
				sandbox.ErrLimit, size.value, size.unit, size.what, size.most, section, size.key)
		}
	}
	return l, nil
}

// gigabytes rounds up to hundredths.
func gigabytes(bytes int64) float64 { return math.Ceil(float64(bytes)/(1<<30)*100) / 100 }

// hourly is what a machine of that size costs.
func (c Config) hourly(cpus, memoryGB, diskGB float64) float64 {
	return cpus*c.USDPerCoreHour + memoryGB*c.USDPerGBHour + diskGB*c.USDPerDiskGBHour
}

// minutes rounds a time up to what the service counts in, at most most.
func minutes(d, most time.Duration) int {
	if d <= 0 || d > most {
		d = most
	}
	return max(1, int((d+time.Minute-1)/time.Minute))
}

// key says where the API key is.
func (c Config) key() cloud.Key {
	return cloud.Key{
		Section: section, Env: c.APIKeyEnv, File: c.APIKeyFile,
		Make: "make one that may read and write sandboxes in the dashboard, https://app.primeintellect.ai,",
	}
}

// base is the address without what is appended to it anyway.
func (c Config) base() string {
	at := cmp.Or(c.APIURL, "https://api.primeintellect.ai")
	return strings.TrimRight(strings.TrimSuffix(strings.TrimRight(at, "/"), "/api/v1"), "/")
}
