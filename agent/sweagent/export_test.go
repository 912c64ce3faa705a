package sweagent

import "time"

// Hasty makes an agent look often and wait for nothing long.
func Hasty(a *Agent) *Agent {
	a.interval, a.patience = 20*time.Millisecond, 100*time.Millisecond
	return a
}
