package githubsim

import "net/http"

func (h *Hub) servePage(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
