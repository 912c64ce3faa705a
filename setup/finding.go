package setup

// Level of a finding.
type Level int

// The levels: fine, works with a drawback, does not work.
const (
	Good Level = iota
	Warn
	Bad
)

// Finding is one line of the doctor.
type Finding struct {
	Level Level
	What  string
	Text  string
	Fix   string // what to do about it; "" if nothing
}
