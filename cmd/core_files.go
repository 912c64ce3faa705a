package cmd

import (
	"os"

	"golang.org/x/sys/unix"
)

// keepOutOfCoreFiles keeps the memory of this process, and of those that it starts, out of core files: it holds keys.
// The limit stops files; a program that the kernel's core_pattern starts gets one in spite of it, without memory.
func keepOutOfCoreFiles() {
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})               // a lower limit is never refused
	_ = os.WriteFile("/proc/self/coredump_filter", []byte("0"), 0o600) // a kernel without core files has no such file
}
