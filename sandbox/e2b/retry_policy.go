package e2b

import (
	"time"

	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// retryPolicy says how long E2B is asked: of servers that fail, of both kinds of 429, and of slow calls.
func retryPolicy() cloud.RetryPolicy {
	const s = time.Second
	return cloud.RetryPolicy{
		Request: 60 * s, Slow: 180 * s, Broken: cloud.Backoff{First: s / 2, Most: 8 * s, Total: 20 * s},
		Limited: cloud.Backoff{First: s / 1000, Most: s, Total: 60 * s}, Full: cloud.Backoff{First: s / 2, Most: 8 * s, Total: 30 * s},
	}
}
