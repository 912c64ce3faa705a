package ghapp_test

import (
	"testing"

	"github.com/yudai-dev/yudai/internal/githubsim"
	"github.com/yudai-dev/yudai/solve"
)

// TestAccess: what a person may do depends on the account, not on who has its name by now.
func TestAccess(t *testing.T) {
	t.Parallel()
	inWorld(t, githubsim.Options{}, func(t *testing.T, w *world) {
		person := func(login string) solve.Person { return solve.Person{ID: w.hub.CreateUser(login).ID, Login: login} }
		w.hub.CreateUser("rita")
		must(t, w.hub.SetPermission("octo/hello", "rita", "read"))
		must(t, w.hub.SetPrivate("octo/hello", true))
		for _, c := range []struct {
			who  solve.Person
			want solve.Access
		}{
			{person("ada"), solve.Access{Reads: true, Writes: true}},
			{person("rita"), solve.Access{Reads: true}},
			{person("mallory"), solve.Access{}},
			{solve.Person{ID: person("mallory").ID, Login: "ada"}, solve.Access{}},
			{solve.Person{ID: 1, Login: "nobody-has-this-name"}, solve.Access{}},
			{solve.Person{}, solve.Access{}},
		} {
			if got, err := w.app.Access(t.Context(), w.repo, c.who); err != nil || got != c.want {
				t.Errorf("%+v may %+v (%v), want %+v", c.who, got, err, c.want)
			}
		}
		must(t, w.hub.SetPrivate("octo/hello", false))
		if got, err := w.app.Access(t.Context(), w.repo, person("mallory")); err != nil || got != (solve.Access{Reads: true}) {
			t.Errorf("a stranger may %+v in a public repository (%v)", got, err)
		}
	})
}
