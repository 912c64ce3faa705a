package web

import (
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/solve"
)

// ownFile are the artifacts that may be downloaded beside logs.
var ownFile = regexp.MustCompile(`^run-[1-9]\d{0,3}\.(patch|traj\.json)$`)

// downloadTime is how long a download may take.
const downloadTime = 15 * time.Minute

// download names the file that an answer is, "" for one that is shown.
func download(w http.ResponseWriter, kind, name string) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(downloadTime))
	w.Header().Set("Content-Type", kind)
	if name != "" {
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	}
}

// file gives a patch or a trajectory.
func (p *Pages) file(w http.ResponseWriter, r *http.Request) {
	id, name := solve.ID(r.PathValue("id")), r.PathValue("name")
	_, err := p.Store.Solve(r.Context(), id)
	if err == nil && !ownFile.MatchString(name) {
		err = solve.ErrNotFound
	}
	var data []byte
	if err == nil {
		data, err = p.Store.Artifact(r.Context(), id, name)
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	download(w, "application/octet-stream", string(id)+"-"+name)
	w.Write(data)
}

// bundle gives the signed bundle of a solve.
func (p *Pages) bundle(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	write, err := p.Bundle(r.Context(), solve.ID(id))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	download(w, "application/x-tar", "bundle-"+id+".tar")
	if err := write(w); err != nil {
		zerolog.Ctx(r.Context()).Error().Err(err).Str(logkey.SolveID, id).Msg("bundle not finished")
		panic(http.ErrAbortHandler) // a connection that breaks off is no whole file
	}
}
