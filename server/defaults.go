package server

import _ "embed"

// DefaultsYAML is the complete built-in configuration with the meaning of every key, as
// `yudai config --defaults` prints it. A test writes it from the comments in the code.
//
//go:embed defaults.yml
var DefaultsYAML string
