package drivers

import (
	"github.com/yudai-dev/yudai/sandbox/local"
)

// Stage must be the first thing a program that opens sandboxes does: where a driver
// started it as its helper, for the inside of a sandbox, it does not return.
func Stage() {
	local.Stage()
}
