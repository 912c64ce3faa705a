package e2bsim

import (
	"net/http"
	"time"

	"github.com/yudai-dev/yudai/test/machine"
)

// BareDaemon is a daemon as it is before the platform gives it a token, whose
// default user is root: that is what the transcripts were recorded from.
func BareDaemon(m *machine.Machine) http.Handler {
	d := &daemon{
		machine: m, version: "0.6.13", user: machine.Root, envs: map[string]string{"E2B_SANDBOX": "false"},
		complain: func(string) {}, die: func() {}, now: time.Now,
	}
	d.prepare()
	return d
}
