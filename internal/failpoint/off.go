//go:build !failpoints

package failpoint

import "net/http"

// Enabled says whether this build has failpoints.
const Enabled = false

// Hit does nothing in this build.
func Hit(...string) {}

// Mutated is false in this build.
func Mutated(Mutation) bool { return false }

// Transport is next in this build.
func Transport(_ string, next http.RoundTripper) http.RoundTripper { return next }
