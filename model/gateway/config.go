package gateway

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/yudai-dev/yudai/internal/setting"
)

// Config is the section "gateway".
type Config struct {
	// The directory of the secret that tokens are made from, and of the sockets that sandboxes on this machine see.
	Dir string `yaml:"dir"`
	// Where agents beside yudai reach it, host:port on loopback; port 0 takes a free one. Nothing listens there until such an
	// agent runs.
	Address string `yaml:"address"`
	// The largest request, in MiB.
	MaxRequestMiB int `yaml:"max_request_mib"`
	// How long a provider may be silent in the middle of an answer.
	IdleTimeout time.Duration `yaml:"idle_timeout"`
	// Whether requests to models and their answers are kept with the solve, without tokens and keys.
	Record bool `yaml:"record"`
	// How much of each request and of each answer is kept, in KiB.
	RecordKiB int `yaml:"record_kib"`
}

// DefaultConfig is the built-in configuration.
func DefaultConfig() Config {
	return Config{Dir: "data/gateway", Address: "127.0.0.1:0", MaxRequestMiB: 32, IdleTimeout: 2 * time.Minute, RecordKiB: 1024}
}

// requestBytes is MaxRequestMiB in bytes.
func (c Config) requestBytes() int64 { return int64(c.MaxRequestMiB) << 20 }

// Validate reports every bad value with its key inside the section.
func (c Config) Validate(report setting.Report) {
	report.Unless(c.Dir != "", "dir", "is missing: where the gateway keeps its secret and sockets")
	report.Unless(loopback(c.Address), "address",
		fmt.Sprintf("%q is not host:port with an address of loopback, like 127.0.0.1:0 (port 0 takes a free one)", c.Address))
	report.Unless(c.MaxRequestMiB >= 1 && c.MaxRequestMiB <= 1024, "max_request_mib", "must be 1 to 1024")
	report.Unless(c.IdleTimeout >= time.Millisecond, "idle_timeout", "must be at least 1ms")
	report.Unless(c.RecordKiB >= 1 && c.RecordKiB <= 1<<15, "record_kib", "must be 1 to 32768")
}

func loopback(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil
}
