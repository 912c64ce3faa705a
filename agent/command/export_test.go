package command

import "time"

// Hasty looks at once whether a program is still there at all.
func Hasty(a *Agent) *Agent { a.alive = time.Millisecond; return a }
