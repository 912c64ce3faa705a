package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assetFiles embed.FS

// assets are the style sheet, the script and the picture, under names that hold their hash.
type assets struct {
	bodies map[string][]byte // by hashed name
	names  map[string]string // hashed, by plain name
}

func loadAssets() (*assets, error) {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		return nil, fmt.Errorf("read the assets: %w", err)
	}
	a := &assets{map[string][]byte{}, map[string]string{}}
	for _, e := range entries {
		body, err := assetFiles.ReadFile("assets/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("read the assets: %w", err)
		}
		sum := sha256.Sum256(body)
		ext := path.Ext(e.Name())
		hashed := strings.TrimSuffix(e.Name(), ext) + "." + hex.EncodeToString(sum[:6]) + ext
		a.bodies[hashed], a.names[e.Name()] = body, "/assets/"+hashed
	}
	return a, nil
}

// serve answers with an asset; its name changes with it, so it is kept for ever.
func (a *assets) serve(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	body, ok := a.bodies[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	kinds := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	w.Header().Set("Content-Type", kinds[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	w.Write(body)
}
