package judge

import (
	"regexp"

	"github.com/yudai-dev/yudai/solve"
)

var makeTest = regexp.MustCompile(`(?m)^test\s*:(?:[^=]|$)`)

// detectMake recognises a Makefile with a target "test".
func detectMake(r *repository) (Setup, bool) {
	name := r.first("GNUmakefile", "makefile", "Makefile")
	return Setup{
		Test: solve.TestCommand{Command: "make test", Format: "exit", Source: name},
		Why:  name + ` with a target "test"`,
	}, makeTest.MatchString(r.read(name))
}
