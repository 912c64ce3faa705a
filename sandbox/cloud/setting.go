package cloud

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/yudai-dev/yudai/internal/setting"
	"github.com/yudai-dev/yudai/sandbox"
)

// Key says where an API key is: the settings api_key_env and api_key_file of a
// section of config.yml. The environment wins.
type Key struct {
	Section   string // "sandbox.prime."
	Env, File string
	Make      string // how one gets a key, for people
}

// Read finds the key. Its error names the setting and the fix.
func (k Key) Read(getenv func(string) string) (string, error) {
	key := ""
	if k.Env != "" {
		key = strings.TrimSpace(getenv(k.Env))
	}
	if key == "" && k.File != "" {
		data, err := os.ReadFile(k.File)
		if err != nil {
			return "", fmt.Errorf("%w: %sapi_key_file: %w", sandbox.ErrSetting, k.Section, err)
		}
		key = strings.TrimSpace(string(data))
	}
	if key == "" {
		return "", fmt.Errorf("%w: there is no API key: %s and put it into %s", sandbox.ErrSetting, k.Make, k.Place())
	}
	if len(key) > 4096 || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%w: the API key has characters that no key has: look at %s", sandbox.ErrSetting, k.Place())
	}
	return key, nil
}

// Place says where the key is, or belongs.
func (k Key) Place() string {
	switch {
	case k.File != "":
		return fmt.Sprintf("the file %s (%sapi_key_file)", k.File, k.Section)
	case k.Env != "":
		return fmt.Sprintf("the environment variable %s (%sapi_key_env)", k.Env, k.Section)
	}
	return fmt.Sprintf("a file (%sapi_key_file) or an environment variable (%sapi_key_env)", k.Section, k.Section)
}

// Validate checks the settings themselves.
func (k Key) Validate(report setting.Report) {
	report.Unless(!strings.ContainsAny(k.Env, "= \t\n\x00"), "api_key_env", fmt.Sprintf("%q is not the name of a variable", k.Env))
	report.Unless(!strings.ContainsFunc(k.File, unicode.IsControl), "api_key_file", "is not the name of a file")
}

// IsURL reports whether a setting is the address of a service.
func IsURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		u.RawQuery == "" && u.Fragment == "" && len(s) < 1000
}

// hosts is the allow-list of a network, sorted, never nil.
func (d *Driver) hosts(n sandbox.Network) ([]string, error) {
	if n.Socket != "" {
		return nil, fmt.Errorf("%w: no socket of this machine can be shown in a sandbox of a provider (%s): allow a public name that leads here",
			errors.ErrUnsupported, n.Socket)
	}
	if most := d.options.MostHosts; most > 0 && len(n.Allow) > most {
		return nil, fmt.Errorf("%w: %d hosts: %s takes at most %d", sandbox.ErrLimit, len(n.Allow), d.Traits().Name, most)
	}
	if err := n.Check(); err != nil {
		return nil, err
	}
	all := slices.Sorted(slices.Values(n.Allow))
	return append([]string{}, slices.Compact(all)...), nil
}
