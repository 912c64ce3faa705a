//go:build linux && !amd64

package local

// amd64Denied is empty where those calls do not exist.
func amd64Denied() []uint32 { return nil }
