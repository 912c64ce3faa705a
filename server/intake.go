package server

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"regexp"
	"strings"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/internal/failpoint"
	"github.com/yudai-dev/yudai/internal/logkey"
)

// maxDelivery is GitHub's cap of a payload, 25 MB, and some room.
const maxDelivery = 25<<20 + 64<<10

var (
	signatureShape = regexp.MustCompile(`^sha256=[0-9a-fA-F]{64}$`)
	eventShape     = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
)

// NewIntake returns the handler for GitHub's webhooks. It answers 2xx only after
// the handler of the event returned nil: what the delivery asks for is then stored.
//
//	405, 413, 400  not a delivery: method, size, signature (SHA-256 only), id, event, payload
//	500, 503       a handler panicked; the store did not take it: redeliver
//	202            an event that nobody handles
//	200            stored, or known already, or nothing to do
//
// An empty secret is an error: the library underneath would then take unsigned deliveries.
func NewIntake(secret string, events []githubapp.EventHandler) (http.Handler, error) {
	if secret == "" {
		return nil, errors.New("the webhook secret is empty: set GITHUB_APP_WEBHOOK_SECRET or github.app.webhook_secret_file")
	}
	dispatcher := githubapp.NewEventDispatcher(events, secret,
		githubapp.WithScheduler(stored{}), githubapp.WithErrorCallback(refuse))
	return intake{dispatcher}, nil
}

// intake checks what the library does not before the body is read.
type intake struct{ dispatcher http.Handler }

func (i intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guid := r.Header.Get("X-GitHub-Delivery")
	bad := func(status int, text string) {
		zerolog.Ctx(r.Context()).Warn().Str(logkey.DeliveryID, clean(guid)).Err(errors.New(text)).Msg("webhook refused")
		http.Error(w, text, status)
	}
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		bad(http.StatusMethodNotAllowed, "webhooks are POST requests")
	case r.ContentLength > maxDelivery:
		bad(http.StatusRequestEntityTooLarge, "payload too large")
	case !signatureShape.MatchString(r.Header.Get("X-Hub-Signature-256")):
		// The library would go on with SHA-1, from the older header or from this one.
		bad(http.StatusBadRequest, "no SHA-256 signature: set a secret for the webhook")
	case guid == "":
		bad(http.StatusBadRequest, "X-GitHub-Delivery is empty, and so not a GUID")
	case !eventShape.MatchString(r.Header.Get("X-GitHub-Event")):
		bad(http.StatusBadRequest, "X-GitHub-Event is not an event")
	case !jsonBody(r):
		bad(http.StatusBadRequest, "not JSON: set the webhook's content type to application/json")
	default:
		r.Header.Set("X-GitHub-Delivery", handlers.DeliveryID(guid))
		r.Header.Del("X-Hub-Signature")
		r.Body = http.MaxBytesReader(w, r.Body, maxDelivery)
		i.dispatcher.ServeHTTP(w, r)
	}
}

func jsonBody(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// clean keeps a foreign header value short and printable for the log.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s[:min(len(s), 64)])
}

// stored is a scheduler without a queue: the handler runs inside the request and
// its one call into the store is the commit. Nothing is accepted that is only in memory.
type stored struct{}

// Schedule implements [githubapp.Scheduler]. A panic is an error like any other.
func (stored) Schedule(ctx context.Context, d githubapp.Dispatch) (err error) {
	defer handlers.Recover(&err)
	if failpoint.Mutated(failpoint.AnswerBeforeCommit) {
		go d.Execute(context.WithoutCancel(ctx)) //nolint:errcheck // the fault that this mutation is
		return nil
	}
	return d.Execute(ctx)
}

// refuse answers a delivery that was not taken. GitHub keeps the answer in its
// delivery log, where the operator reads it and can redeliver.
func refuse(w http.ResponseWriter, r *http.Request, err error) {
	log := zerolog.Ctx(r.Context())
	var tooLarge *http.MaxBytesError
	var invalid githubapp.ValidationError
	status, text := http.StatusServiceUnavailable, "not stored: please redeliver"
	switch {
	case errors.As(err, &invalid):
		err = invalid.Cause
		status, text = http.StatusBadRequest, "the signature does not match the payload: is github.app.webhook_secret the webhook's secret?"
		if errors.As(err, &tooLarge) {
			status, text = http.StatusRequestEntityTooLarge, "payload too large"
		}
	case errors.Is(err, handlers.ErrPayload):
		status, text = http.StatusBadRequest, "the payload is not what this event carries"
	case errors.Is(err, handlers.ErrPanic):
		status, text = http.StatusInternalServerError, "the handler broke: see the log"
	}
	if status >= http.StatusInternalServerError {
		log.Error().Err(err).Msg("delivery not stored")
	} else {
		log.Warn().Err(err).Msg("webhook refused")
	}
	http.Error(w, text, status)
}
