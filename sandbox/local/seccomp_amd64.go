package local

import "golang.org/x/sys/unix"

// amd64Denied are calls that only amd64 has.
func amd64Denied() []uint32 {
	return []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_VSERVER, unix.SYS_LOOKUP_DCOOKIE}
}
