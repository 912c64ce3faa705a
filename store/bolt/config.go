package bolt

import (
	"time"

	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/solve"
)

// Config is the section `store` of the configuration.
type Config struct {
	// The database file. Transcripts, patches and test output are in directories beside it. A relative path starts at the working
	// directory.
	Path string `yaml:"path"`
	// How long a commit waits for others to join it while many are writing; at most 1s.
	BatchDelay time.Duration `yaml:"batch_delay"`
	// How long webhooks and their ids are kept, 96h or more: GitHub can send a webhook again for days.
	KeepDeliveries time.Duration `yaml:"keep_deliveries"`
	// How long transcripts, patches and test output of an ended solve are kept.
	KeepLogs time.Duration `yaml:"keep_logs"`

	// Now is the clock where a method has no time of its own; nil is time.Now.
	Now func() time.Time `yaml:"-"`
	// Ended is told of every solve that ended, with its runs, once at most: after a crash nobody is told. nil is nobody.
	Ended func(s solve.Solve, runs []solve.Run) `yaml:"-"`
}

const day = 24 * time.Hour

// DefaultConfig is what an absent setting means.
func DefaultConfig() Config {
	return Config{
		Path:           "data/yudai.db",
		BatchDelay:     2 * time.Millisecond,
		KeepDeliveries: 14 * day,
		KeepLogs:       14 * day,
	}
}

// Validate reports every bad value by its key.
func (c Config) Validate(report setting.Report) {
	report.Unless(c.Path != "", "path", "is empty; name a file, such as data/yudai.db")
	report.Unless(c.BatchDelay >= 0 && c.BatchDelay <= time.Second, "batch_delay", "must be between 0 and 1s")
	report.Unless(c.KeepDeliveries >= 4*day, "keep_deliveries", "must be at least 96h: GitHub can send a delivery again for days")
	report.Unless(c.KeepLogs >= time.Hour, "keep_logs", "must be at least 1h")
}
