package ghapp

import (
	"errors"
	"net/http"
)

// outcome is what a failed call means for the effect it belongs to.
type outcome int

const (
	// outcomeUnknown: no answer, or one that says nothing; it may have been done.
	outcomeUnknown outcome = iota
	// outcomeLimited: refused for a while, not done.
	outcomeLimited
	// outcomeNotVisible: refused, perhaps only because GitHub does not see a new object yet.
	outcomeNotVisible
	// outcomeNotDone: not done, but a later try may succeed.
	outcomeNotDone
	// outcomePermission: not done; the App lacks the permission, or is suspended.
	outcomePermission
	// outcomeRefused: not done, and a later try cannot succeed.
	outcomeRefused
)

// outcomeOf judges an error of do.
func outcomeOf(err error) outcome {
	var limit *LimitError
	if errors.As(err, &limit) {
		return outcomeLimited
	}
	var call *callError
	if !errors.As(err, &call) {
		return outcomeUnknown
	}
	if call.noToken && (call.status == 0 || call.status >= 500 || call.status == http.StatusUnauthorized) {
		return outcomeNotDone
	}
	switch s := call.status; {
	case s == 0 || s >= 500 || s == http.StatusRequestTimeout:
		return outcomeUnknown
	case call.suspended(), call.lacksPermission():
		return outcomePermission
	case s == http.StatusUnauthorized:
		return outcomeNotDone
	case s == http.StatusConflict && !mentions(err, "empty"):
		return outcomeNotDone
	case s == http.StatusNotFound && !call.noToken,
		s == http.StatusUnprocessableEntity && mentions(err, "does not exist", "no commit found", "not found", "invalid head"):
		return outcomeNotVisible
	default:
		return outcomeRefused
	}
}
