package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// refuseOthers answers other methods on the paths of operations, and other paths below /solve, with problem JSON.
func refuseOthers(mux *http.ServeMux, doc *huma.OpenAPI) {
	methods := map[string][]string{}
	for _, o := range operationsOf(doc) {
		methods[o.Path] = append(methods[o.Path], o.Method)
	}
	for path, allowed := range methods {
		allow := strings.Join(allowed, ", ")
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", allow)
			tell(w, http.StatusMethodNotAllowed, "this address takes "+allow)
		})
	}
	mux.HandleFunc("/solve/", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, http.StatusNotFound, "the API has no such address; /docs lists all")
	})
}

// tell answers with a problem outside of operations.
func tell(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(huma.NewError(status, text)) // nobody is left to tell
}
