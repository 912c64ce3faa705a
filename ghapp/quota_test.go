package ghapp_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// TestBudgetGoesDownAndComesBack: what can be written at once, by installation.
func TestBudgetGoesDownAndComesBack(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		w.cfg.Write.PerHour = 100
		writer := w.newWriter("node-1")
		if n := len(writer.WritesLeft()); n != 0 {
			t.Errorf("%d installations before the first write", n)
		}
		for i := range 8 {
			w.store.want(w.reply(fmt.Sprintf("ask-%d", i), "hello"))
		}
		stop := w.runWriter(writer)
		w.settle()
		stop()
		low := writer.WritesLeft()[w.repo.Installation]
		if low < 1 || low > 4 { // ten at once, eight written within seconds
			t.Errorf("%g are left of 10 after 8 writes", low)
		}
		<-time.After(time.Hour)
		if n := writer.WritesLeft()[w.repo.Installation]; n != 10 {
			t.Errorf("%g are left after an hour", n)
		}
	})
}

// TestLeftIsWhatGitHubSaid, for each installation and for the App itself.
func TestLeftIsWhatGitHubSaid(t *testing.T) {
	t.Parallel()
	said := map[string]string{"": "4999"}
	app := testApp(t, &answers{answer: func(req *http.Request) *http.Response {
		return respond(req, 200, `{"permission":"write"}`, "X-RateLimit-Remaining", said[""])
	}}, nil)
	if n := len(app.RequestsLeft()); n != 0 {
		t.Errorf("%d installations before the first answer", n)
	}
	for _, one := range []string{"4999", "17", "none"} { // an answer without the number changes nothing
		said[""] = one
		if _, _, err := app.Permission(t.Context(), solve.Repo{Installation: 7, ID: 1, Owner: "o", Name: "n"}, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	if got := app.RequestsLeft(); !maps.Equal(got, map[int64]int{7: 17}) {
		t.Errorf("left %v", got)
	}
}
