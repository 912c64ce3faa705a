package ghapp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"

	"github.com/yudai-dev/yudai/solve"
)

// callError is what a call of this package returns: the action, the cause with
// secrets taken out, and GitHub's status.
type callError struct {
	action string
	status int // 0: no answer
	text   string
	// noToken: the token for the call could not be had, so the call was never made.
	noToken bool
	// needs are the missing permissions, in GitHub's words.
	needs string
	cause error
}

// Error is for logs; it holds no secret.
func (e *callError) Error() string { return e.action + ": " + e.text }

// Unwrap lets callers find limits, cancelled contexts and solve.ErrNotFound.
func (e *callError) Unwrap() error { return e.cause }

// Public is a short sentence that may be shown to people.
func (e *callError) Public() string {
	var limit *LimitError
	switch {
	case errors.As(e.cause, &limit):
		return "GitHub limits yudai's requests until " + limit.at.UTC().Format("15:04 MST")
	case e.suspended():
		return "yudai is suspended on this repository"
	case e.uninstalled():
		return "yudai is not installed on this repository"
	case e.lacksPermission() && e.needs != "":
		return "yudai was not granted the permission " + e.needs
	case e.noToken && e.status != 0:
		return "yudai is not installed on this repository, is suspended, or was not granted its permissions"
	case e.status == 0:
		return "GitHub could not be reached"
	default:
		return fmt.Sprintf("GitHub refused to %s (%d)", e.action, e.status)
	}
}

// Temporary reports whether asking again can help.
func (e *callError) Temporary() bool {
	return e.status == 0 || e.status >= 500 || e.status == http.StatusRequestTimeout || e.suspended()
}

// suspended says that the installation's owner paused it. Its permissions stay for
// when they resume it.
func (e *callError) suspended() bool {
	return e.status == http.StatusForbidden && containsAny(e.text, "suspended")
}

// uninstalled says that there is no token for the repository, and will be none.
func (e *callError) uninstalled() bool {
	return e.noToken && (e.status == http.StatusNotFound ||
		e.status == http.StatusUnprocessableEntity && containsAny(e.text, "not accessible"))
}

// lacksPermission says that the App was not granted what the call needs. The account
// may still accept it.
func (e *callError) lacksPermission() bool {
	return e.status == http.StatusForbidden && containsAny(e.text, "not accessible by integration") ||
		e.noToken && e.status == http.StatusUnprocessableEntity && containsAny(e.text, "not granted")
}

// wrap gives a failed call its action and closes what the libraries leave open.
func wrap(action string, err error) error {
	var limit *github.RateLimitError
	if errors.As(err, &limit) { // found locally by go-github after an answer with nothing remaining
		at := limit.Rate.Reset.Time
		err = &LimitError{at: at, message: "nothing remains of the hourly limit"}
	}
	e := &callError{action: action, status: statusOf(err), text: Redact(err.Error()), cause: err}
	var token *ghinstallation.HTTPError
	if errors.As(err, &token) {
		e.noToken = true
		if token.Response != nil {
			e.status = token.Response.StatusCode
			e.text = fmt.Sprintf("get an installation token: %d %s", e.status, readMessage(token.Response))
		}
	}
	if e.lacksPermission() {
		if e.needs = neededPermissions(err); e.needs != "" {
			e.text += " (needs " + e.needs + ")"
		}
	}
	if e.status == http.StatusNotFound || e.status == http.StatusGone {
		e.cause = errors.Join(solve.ErrNotFound, err)
	}
	return e
}

// neededPermissions are those that a refused call needs, such as "checks=write"; "" if
// the answer does not say.
func neededPermissions(err error) string {
	var answer *github.ErrorResponse
	if !errors.As(err, &answer) || answer.Response == nil {
		return ""
	}
	needs := Redact(answer.Response.Header.Get("X-Accepted-GitHub-Permissions"))
	return needs[:min(len(needs), 200)]
}

// refusalText is the reason with which a refused call ends its effect.
func refusalText(err error) string {
	var e *callError
	if errors.As(err, &e) && e.uninstalled() {
		return e.Public()
	}
	return Redact(err.Error())
}

// readMessage reads the message of a refusal and closes it.
func readMessage(resp *http.Response) string {
	if resp.Body == nil {
		return "no message"
	}
	defer closeBody(resp.Body)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLimitBody))
	if err != nil {
		return "no message"
	}
	return messageOf(body)
}

// statusOf is GitHub's status of a failed call, 0 if there was no answer.
func statusOf(err error) int {
	var answer *github.ErrorResponse
	if errors.As(err, &answer) && answer.Response != nil {
		return answer.Response.StatusCode
	}
	return 0
}

// mentions says whether GitHub's refusal contains one of the words, in its message
// or its details, whatever their case.
func mentions(err error, words ...string) bool {
	var answer *github.ErrorResponse
	if !errors.As(err, &answer) {
		return false
	}
	texts := []string{answer.Message}
	for _, d := range answer.Errors {
		texts = append(texts, d.Message, d.Code+" "+d.Field)
	}
	return containsAny(strings.Join(texts, "\n"), words...)
}

// containsAny says whether a text contains one of the words, which are in lower case.
func containsAny(text string, words ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// malformed says that an answer is a success without its content: it was cut.
func malformed(what string) error {
	return &callError{action: what, text: "the answer holds no " + what, cause: io.ErrUnexpectedEOF}
}

// complete returns the error of an answer; [malformed] if its content is missing.
func complete(err error, present bool, what string) error {
	if err == nil && !present {
		return malformed(what)
	}
	return err
}

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
