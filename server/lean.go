package server

import "runtime/debug"

// leanPercent is how much garbage may gather beside what is in use, in percent.
// With the language's default, 100, a process with a thousand runs takes a
// quarter more memory and a twentieth less processor time.
const leanPercent = 50

// Lean makes this process prefer little memory to the last bit of speed: it waits
// for models, GitHub and test suites, beside which it should not be noticed. What
// the start took is given back. An operator's GOGC is obeyed.
func Lean(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(leanPercent)
	}
	debug.FreeOSMemory()
}
