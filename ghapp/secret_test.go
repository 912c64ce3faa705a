package ghapp_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"github.com/yudai-dev/yudai/ghapp"
)

func TestSecretNeverPrints(t *testing.T) {
	t.Parallel()
	const value = "hunter2-hunter2"
	secret := ghapp.NewSecret(value)
	type exported struct{ S ghapp.Secret }
	type hidden struct{ s ghapp.Secret }
	var log bytes.Buffer
	logger := zerolog.New(&log)
	logger.Info().Interface("a", secret).Object("b", secret).Stringer("c", secret).
		Interface("d", exported{secret}).Any("e", map[string]any{"s": &secret}).Msg("")
	texts := []string{log.String()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{secret, &secret, exported{secret}, hidden{secret}, []ghapp.Secret{secret}} {
			texts = append(texts, fmt.Sprintf(verb, v))
		}
	}
	for _, encode := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		out, err := encode(exported{secret})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(out))
	}
	hex := fmt.Sprintf("%x", value)
	for _, text := range texts {
		if strings.Contains(text, value) || strings.Contains(text, hex) {
			t.Errorf("the secret shows in %s", text)
		}
	}
	if secret.Reveal() != value || secret.Empty() || !(ghapp.Secret{}).Empty() {
		t.Error("Reveal or Empty is wrong")
	}
}

// A token in each of GitHub's shapes, by what it begins with.
func tokens(t *rapid.T) string {
	alnum := rapid.StringMatching(`[A-Za-z0-9]{36}`)
	part := rapid.StringMatching(`[A-Za-z0-9_-]{20,200}`)
	switch rapid.IntRange(0, 3).Draw(t, "shape") {
	case 0:
		return "ghs_" + alnum.Draw(t, "classic")
	case 1:
		return fmt.Sprintf("ghs_%d_eyJ%s.%s.%s", rapid.IntRange(1, 9999999).Draw(t, "app"),
			part.Draw(t, "head"), part.Draw(t, "claims"), part.Draw(t, "signature"))
	case 2:
		return "gh" + rapid.SampledFrom([]string{"p", "o", "u", "r"}).Draw(t, "kind") + "_" + alnum.Draw(t, "other")
	default:
		return "github_pat_" + rapid.StringMatching(`[A-Za-z0-9_]{82}`).Draw(t, "pat")
	}
}

func TestRedactTakesOutEveryToken(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		token := tokens(t)
		basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
		before := rapid.StringMatching(`[a-z "':=(/]{0,12}`).Draw(t, "before")
		after := rapid.StringMatching(`([ ,;"')\n][a-z ]{0,8})?`).Draw(t, "after")
		for _, text := range []string{
			token,
			"Authorization: token " + token,
			"authorization: Bearer " + token,
			`"Authorization":["Basic ` + basic + `"]`,
			"http.extraheader=AUTHORIZATION: basic " + basic,
			"Basic " + basic,
			"https://x-access-token:" + token + "@github.com/o/r.git",
		} {
			out := ghapp.Redact(before + text + after)
			for _, secret := range []string{token, token[:12], token[len(token)-12:], basic, basic[len(basic)-12:]} {
				if strings.Contains(out, secret) {
					t.Fatalf("%q is left in %q", secret, out)
				}
			}
		}
	})
}

func TestRedactTakesOutKeysAndJWTs(t *testing.T) {
	t.Parallel()
	key := testPEM()
	jwt := "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxIn0.c2lnbmF0dXJl-_"
	out := ghapp.Redact("key: " + key + " jwt: " + jwt + " end")
	for _, secret := range []string{"MII", "RSA PRIVATE", "c2lnbmF0dXJl", "eyJpc3M"} {
		if strings.Contains(out, secret) {
			t.Errorf("%q is left in %q", secret, out)
		}
	}
	if !strings.HasSuffix(out, " end") {
		t.Errorf("the text after it is lost: %q", out)
	}
}

func TestRedactLeavesOrdinaryTextAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "basic understanding of tokens", "the author is ghost_writer", "Bearer of bad news",
		"sha 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12", "yudai/ai/fix-12",
	} {
		if out := ghapp.Redact(text); out != text {
			t.Errorf("Redact(%q) = %q", text, out)
		}
	}
}
