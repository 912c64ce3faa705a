package ghapp

import (
	"regexp"

	"github.com/rs/zerolog"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// Secret is a value that prints as redacted wherever it is formatted, encoded
// or logged; only Reveal gives it out. The zero value is empty.
type Secret struct {
	// A pointer, since fmt cannot call methods on unexported fields of other
	// structs: what it prints of them is then an address.
	value *string
}

// NewSecret wraps a value.
func NewSecret(value string) Secret { return Secret{value: &value} }

// Reveal gives the value out: for the one call that needs it.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// Empty says whether there is no value.
func (s Secret) Empty() bool { return s.Reveal() == "" }

// String never shows the value.
func (Secret) String() string { return redacted }

// GoString never shows the value.
func (Secret) GoString() string { return redacted }

// MarshalJSON never shows the value.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText never shows the value; YAML and XML encoders use it.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalZerologObject never shows the value.
func (Secret) MarshalZerologObject(e *zerolog.Event) { e.Bool(redacted, true) }

// The shapes of GitHub's secrets. Installation tokens come as "ghs_" with 36
// alphanumerics and as "ghs_<app id>_<JWT>" with dots, dashes and no upper
// length. See https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github
var secretShapes = []struct {
	shape *regexp.Regexp
	with  string
}{
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), redacted},
	{regexp.MustCompile(`(?i)(x-access-token:)[^@\s]+@`), "${1}" + redacted + "@"},
	{regexp.MustCompile(`(?i)(authorization["']?\s*[:=]\s*\[?["']?)(?:(?:bearer|basic|token)\s+)?[^\s"',;\]]+`), "${1}" + redacted},
	{regexp.MustCompile(`(?i)(bearer|basic)\s+[A-Za-z0-9._~+/=-]{16,}`), "${1} " + redacted},
	{regexp.MustCompile(`eC1hY2Nlc3MtdG9rZW4[A-Za-z0-9+/]+={0,2}`), redacted}, // "x-access-token" in base64
	{regexp.MustCompile(`gh[psour]_[A-Za-z0-9._-]+`), redacted},
	{regexp.MustCompile(`github_pat_[A-Za-z0-9_]+`), redacted},
	{regexp.MustCompile(`eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+`), redacted},
}

// Redact replaces every GitHub token, Authorization value, signed JWT and
// private key in a text. What leaves this package as an error or a stored reason
// went through it.
func Redact(s string) string {
	for _, p := range secretShapes {
		s = p.shape.ReplaceAllString(s, p.with)
	}
	return s
}
