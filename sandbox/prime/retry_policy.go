package prime

import (
	"time"

	"github.com/yudai-dev/yudai/sandbox/cloud"
)

// retryPolicy says how long Prime is asked: of servers that fail, and of both kinds of 429.
func retryPolicy() cloud.RetryPolicy {
	const s = time.Second
	return cloud.RetryPolicy{
		Request: 30 * s, Broken: cloud.Backoff{First: s / 2, Most: 2 * s, Tries: 3},
		Limited: cloud.Backoff{First: 6 * s, Most: 45 * s, Total: 5 * time.Minute, Tries: 5}, Full: cloud.Backoff{Tries: 1},
	}
}
