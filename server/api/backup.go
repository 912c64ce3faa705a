package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/rs/zerolog"
)

// backupTimeout is how long one piece of a backup may take to be received: a
// reader that stops holds old pages of the database, which then grows.
const backupTimeout = 30 * time.Second

func (a API) backupOperation() huma.Operation {
	o := a.operation(huma.Operation{
		OperationID: "backup", Method: http.MethodGet, Path: "/admin/backup",
		Summary: "Back up the store",
		Description: "A tar with a consistent copy of the database, the transcripts and the artifacts, taken while the server works. " +
			"Unpack it into the directory of store.path to restore it. The connection breaks off if the backup cannot be " +
			"finished: keep no file of a call that failed.",
		Errors:   []int{http.StatusNotImplemented},
		Metadata: example(`/admin/backup`, ` -o yudai.tar`),
	})
	o.Responses = answer("The backup", &huma.Schema{Type: huma.TypeString, Format: "binary"}, "application/x-tar")
	return o
}

func (a API) backup(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	if a.Backup == nil {
		return nil, huma.Error501NotImplemented("the store is a PostgreSQL database: back it up with pg_dump")
	}
	return archive("yudai-"+a.Now().UTC().Format("20060102T150405Z")+".tar", "backup not finished", func(w io.Writer) error {
		return a.Backup(ctx, w)
	}), nil
}

// answer describes an answer that is no JSON of ours.
func answer(what string, schema *huma.Schema, kinds ...string) map[string]*huma.Response {
	content := map[string]*huma.MediaType{}
	for _, kind := range kinds {
		content[kind] = &huma.MediaType{Schema: schema}
	}
	return map[string]*huma.Response{"200": {Description: what, Content: content}}
}

// archive streams a tar.
func archive(name, failed string, write func(io.Writer) error) *huma.StreamResponse {
	header := map[string]string{"Content-Type": "application/x-tar", "Content-Disposition": `attachment; filename="` + name + `"`}
	return transfer(header, failed, write)
}

// transfer streams what may be long. Once it has begun an error can only be told by breaking off.
func transfer(header map[string]string, failed string, write func(io.Writer) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		for name, value := range header {
			ctx.SetHeader(name, value)
		}
		ctx.SetStatus(http.StatusOK)
		if err := write(patientWriter{w, http.NewResponseController(w)}); err != nil {
			zerolog.Ctx(ctx.Context()).Error().Err(err).Msg(failed)
			panic(http.ErrAbortHandler)
		}
	}}
}

// patientWriter gives every piece its own time instead of one for the whole answer.
type patientWriter struct {
	io.Writer
	ctl *http.ResponseController
}

func (w patientWriter) Write(p []byte) (int, error) {
	if err := w.ctl.SetWriteDeadline(time.Now().Add(backupTimeout)); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
