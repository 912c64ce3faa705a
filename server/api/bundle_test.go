package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/server/api"
	"github.com/yudai-dev/yudai/solve"
)

// Solves whose bundles are asked for.
const (
	signed = "cnv8q5k6n88s73a1e0h1"
	broken = "cnv8q5k6n88s73a1e0h2"
	cut    = "cnv8q5k6n88s73a1e0h3"
)

// bundles answers as the signer of a server does.
func bundles(_ context.Context, id solve.ID) (func(io.Writer) error, error) {
	switch id {
	case signed:
		return func(w io.Writer) error { _, err := io.WriteString(w, "a tar"); return err }, nil
	case broken:
		return nil, errors.New("the disk is broken")
	case cut:
		return func(w io.Writer) error {
			_, err := io.WriteString(w, "a ta")
			return errors.Join(err, errors.New("a file was changed"))
		}, nil
	default:
		return nil, solve.ErrNotFound
	}
}

func TestBundle(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(a *api.API) { a.Bundle = bundles })
	for id, want := range map[string]struct {
		status int
		text   string
	}{
		signed: {http.StatusOK, "a tar"}, "cnv8q5k6n88s73a1e0h9": {http.StatusNotFound, "there is no bundle"},
		broken: {http.StatusInternalServerError, "please try again"},
	} {
		res, body := s.read(t, "/solve/"+id+"/bundle", "Bearer "+token)
		if res.StatusCode != want.status || !strings.Contains(body, want.text) || strings.Contains(body, "disk") {
			t.Errorf("%s: %d %s", id, res.StatusCode, body)
		}
		if id == signed && res.Header.Get("Content-Disposition") != `attachment; filename="bundle-`+signed+`.tar"` {
			t.Errorf("%v", res.Header)
		}
	}
	if res, body := s.read(t, "/solve/"+signed+"/bundle", "Bearer wrong"); res.StatusCode != http.StatusUnauthorized || strings.Contains(body, "a tar") {
		t.Errorf("without the token: %d %s", res.StatusCode, body)
	}
}

// TestBundleBreaksOff: half a bundle does not end like a whole one.
func TestBundleBreaksOff(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(a *api.API) { a.Bundle = bundles })
	if res, _ := s.read(t, "/solve/"+cut+"/bundle", "Bearer "+token); res != nil {
		t.Error("the call ended well")
	}
}
