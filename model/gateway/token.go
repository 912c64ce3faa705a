package gateway

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yudai-dev/yudai/internal/durable"
)

// TokenPrefix begins every run token, so that one can be found where it should not be.
const TokenPrefix = "yudai-run-"

// SecretFile, in Config.Dir, holds what tokens are made from; no run has that name.
const SecretFile = "secret"

// readSecret is what tokens are made from, nil if there is none yet.
func readSecret(dir string) ([]byte, error) {
	path := filepath.Join(dir, SecretFile)
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the secret of run tokens: %w", err)
	case len(data) != sha256.Size:
		return nil, fmt.Errorf("read the secret of run tokens: %s has %d bytes, not %d; remove it, and runs that are under way begin anew",
			path, len(data), sha256.Size)
	}
	return data, nil
}

// makeSecret makes it, readable by its owner only.
func makeSecret(dir string) ([]byte, error) {
	data := make([]byte, sha256.Size)
	if _, err := rand.Read(data); err != nil {
		return nil, fmt.Errorf("make the secret of run tokens: %w", err)
	}
	return data, durable.WriteFile(filepath.Join(dir, SecretFile), data)
}

// token is a run's: 256 bits that nobody guesses who does not know the secret, the same
// whenever it is asked for; "" where no run can have one.
func (g *Gateway) token(run string) string {
	secret := g.secret.Load()
	if secret == nil {
		return ""
	}
	mac := hmac.New(sha256.New, *secret)
	mac.Write([]byte(run))
	return TokenPrefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(mac.Sum(nil)))
}

// tokensOf are the tokens of a request.
func tokensOf(h http.Header) []string {
	var out []string
	if kind, token, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(kind, "Bearer") {
		out = append(out, strings.TrimSpace(token))
	}
	if key := strings.TrimSpace(h.Get("X-Api-Key")); key != "" {
		out = append(out, key)
	}
	return out
}

// hasToken says that a token is among those that were presented, in the same time whatever
// they are.
func hasToken(tokens []string, want string) bool {
	if want == "" {
		return false
	}
	found := 0
	for _, t := range tokens {
		found |= subtle.ConstantTimeCompare([]byte(t), []byte(want))
	}
	return found == 1
}

// runName is how runs are called.
var runName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// checkRun refuses what is no name of a run.
func checkRun(run string) error {
	if len(run) > 80 || run == SecretFile || !runName.MatchString(run) {
		return fmt.Errorf("%q is no name of a run", short(run))
	}
	return nil
}
