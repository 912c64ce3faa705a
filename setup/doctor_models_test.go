package setup

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/model"
)

// TestDoctorAsksModels: a key that is there and wrong is found by asking; only a model that solves use by themselves is an error.
func TestDoctorAsksModels(t *testing.T) {
	t.Parallel()
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"no"}}`, http.StatusUnauthorized)
	}))
	t.Cleanup(refuses.Close)
	cfg := model.DefaultConfig()
	cfg.Models = nil
	for _, name := range []string{"used", "spare"} {
		cfg.Models = append(cfg.Models, model.Entry{Name: name, Provider: model.OpenAI, BaseURL: refuses.URL, APIKeyEnv: "YUDAI_ASK_KEY"})
	}
	d := Doctor{Models: cfg, Getenv: func(string) string { return "key" }}
	d.Solver.Defaults.Models = []string{"used"}
	var told []string
	d.Asked = func(name string, failed *model.Error) { told = append(told, name+" "+failed.ExitStatus()) }
	found := d.models(t.Context())
	if len(told) != 2 || !strings.HasPrefix(told[0], "used ") {
		t.Errorf("told of %q", told)
	}
	if len(found) != 2 || found[0].Level != Bad || found[1].Level != Warn || !strings.Contains(found[0].Text, "check YUDAI_ASK_KEY") {
		t.Errorf("%+v", found)
	}
}
