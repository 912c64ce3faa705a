package web_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
)

// TestRepositories: what won where, with its interval, of the repositories that one may read.
func TestRepositories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := w.get("/repositories")
	wants(t, page, "acme/other", "7 of 9", "45 % to 94 %", `<line class="here" x1="45" x2="94"`, "none known", "mini, plain", "12 solves")
	if strings.Index(page, "careful") > strings.Index(page, "hasty") || strings.Index(page, "acme/semver") > strings.Index(page, "acme/other") {
		t.Error("the best arm, or the repository with the most solves, is not the first")
	}
	if page = w.get("/repositories?repo=Acme/Other"); !strings.Contains(page, "2 of 2") || strings.Contains(page, "acme/semver") {
		t.Errorf("one by its name: %s", page)
	}
	wants(t, w.get("/repositories?repo=acme/none"), "Nothing is known of acme/none.")
	if page := w.ask(http.MethodGet, "/repositories?repo=acme/semver", w.signIn("stranger")).Body.String(); strings.Contains(page, "careful") {
		t.Errorf("a stranger sees %s", page)
	}

	// A person's rights are asked for so many repositories, and not for all that there are.
	for n := range 60 {
		w.store.records = append(w.store.records, solve.TrackRecord{Repo: solve.Repo{ID: int64(10 + n), Owner: "acme", Name: fmt.Sprint("r", n)}})
	}
	reader, before := w.signIn("reader"), w.hub.asked
	wants(t, w.ask(http.MethodGet, "/repositories", reader).Body.String(), "acme/semver", "acme/r47", "Ask for another one by its name")
	if n := w.hub.asked - before; n > 50 {
		t.Errorf("%d look-ups", n)
	}
	w.store.records = nil
	wants(t, w.get("/repositories"), "Nothing is known yet.")
	w.store.recordsErr = errors.New("the disk is gone")
	if got := w.ask(http.MethodGet, "/repositories", w.enter()); got.Code != http.StatusInternalServerError || strings.Contains(got.Body.String(), "disk") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}
