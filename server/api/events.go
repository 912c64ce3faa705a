package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/internal/logkey"
	"github.com/yudai-dev/yudai/internal/stream"
	"github.com/yudai-dev/yudai/solve"
)

type eventsInput struct {
	SolveInput
	After uint64 `header:"Last-Event-ID" doc:"The number (seq) of the last event that the caller has; those behind it are sent. All are if it is left out."`
}

func (a API) eventsOperation(api huma.API) huma.Operation {
	o := a.operation(huma.Operation{
		OperationID: "solve-events", Method: http.MethodGet, Path: "/solve/{id}/events",
		Summary: "Follow the events of a solve",
		Description: "Everything that happens to the solve and its runs, as it happens: server-sent events with the number as ID, or one JSON " +
			"object a line for Accept: application/x-ndjson. A silent stream sends a comment, or an empty line, every 15 seconds. The solve's " +
			"own event (without run) to a final state is the last; then the stream ends, server-sent events with an event named end. " +
			"A stream that ends otherwise was cut: go on with Last-Event-ID.",
		Errors:   []int{http.StatusNotFound},
		Metadata: example(`/solve/cnv8q5k6n88s73a1e0h0/events`, ` -N -H "Accept: application/x-ndjson"`),
	})
	event := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[solve.Entry](), true, "")
	o.Responses = answer("The events", event, "application/x-ndjson", "text/event-stream")
	return o
}

func (a API) events(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	if _, err := a.Solves.Solve(ctx, solve.ID(in.ID)); err != nil {
		return nil, unread(ctx, err, in.ID, "solve", noSolve)
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		_, w := humago.Unwrap(h)
		accept := h.Header("Accept")
		lines := strings.Contains(accept, "application/x-ndjson") || strings.Contains(accept, "application/jsonl")
		changes := a.Solves.Watch(ctx)
		var s stream.Stream
		if lines {
			s = stream.Open(w, "application/x-ndjson", "", "\n")
		} else {
			s = stream.Events(w)
		}
		s.Follow(ctx, changes, a.Stopped, func() (frame string, err error) {
			frame, in.After, err = a.eventsAfter(ctx, solve.ID(in.ID), in.After, lines)
			return frame, err
		})
	}}, nil
}

// eventsAfter is a frame of the events behind one, with the number of the last; [stream.ErrEnd] if none will follow.
func (a API) eventsAfter(ctx context.Context, id solve.ID, after uint64, lines bool) (frame string, last uint64, err error) {
	s, err := a.Solves.Solve(ctx, id) // before its events: an ended solve gets no more
	var list []solve.Entry
	if err == nil {
		list, err = a.Solves.Events(ctx, id, after)
	}
	var b strings.Builder
	for _, e := range list {
		var data []byte
		if data, err = json.Marshal(e); err != nil {
			break
		}
		if after = e.Seq; !lines {
			fmt.Fprintf(&b, "id: %d\ndata: %s\n", e.Seq, data)
		} else {
			b.Write(data)
		}
		b.WriteString("\n")
	}
	switch {
	case err != nil && ctx.Err() == nil:
		zerolog.Ctx(ctx).Error().Err(err).Str(logkey.SolveID, string(id)).Msg("events not read")
	case err == nil && s.State.Final():
		if err = stream.ErrEnd; !lines {
			b.WriteString("event: end\ndata: \n\n")
		}
	}
	return b.String(), after, err
}
