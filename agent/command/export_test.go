package command

import "time"

// Hasty looks at once whether a program is still there at all.
func Hasty(a *Agent) *Agent { a.alive = time.Millisecond; return a }

// NewsOnly makes an agent collect and store for news alone.
func NewsOnly(a *Agent) *Agent { a.quiet = time.Hour; return a }
