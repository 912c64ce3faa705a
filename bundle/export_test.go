package bundle

import "io"

// ReadAtMost is Read with another limit.
func ReadAtMost(r io.Reader, limit int64) (*Bundle, error) { return read(r, limit, nil) }

// PreAuthEncoding is what is signed.
func PreAuthEncoding(kind string, payload []byte) []byte { return preAuthEncoding(kind, payload) }

// StatementName is the name of a bundle's first entry.
const StatementName = statementName
