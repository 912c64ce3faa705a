package miniswe_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/miniswe"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/fakeprovider"
	"github.com/yudai-dev/yudai/model/scripted"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/test/hostmachine"
	"github.com/yudai-dev/yudai/test/require"
)

// A scene is one script of testdata/differential.yaml.
type scene struct {
	Name   string `yaml:"name"`
	Limits struct {
		Steps   int     `yaml:"steps"`
		USD     float64 `yaml:"usd"`
		Wall    int     `yaml:"wall"`
		Command int     `yaml:"command"`
	} `yaml:"limits"`
	Exit       string          `yaml:"exit"`
	Calls      int             `yaml:"calls"`
	Submission string          `yaml:"submission"`
	Large      int             `yaml:"large"` // LARGE in a command becomes so many characters
	APIs       []string        `yaml:"apis"`  // beside chat
	Show       bool            `yaml:"show"`  // both trajectories are opened in the inspector
	Steps      []scripted.Step `yaml:"steps"`
}

func scenes(t *testing.T) []scene {
	t.Helper()
	data, err := os.ReadFile("testdata/differential.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []scene
	if err := yaml.UnmarshalWithOptions(data, &list, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		for i := range s.Steps {
			if run := s.Steps[i].Run; run != nil && s.Large > 0 {
				*run = strings.ReplaceAll(*run, "LARGE", strings.Repeat("x", s.Large))
			}
		}
	}
	return list
}

func (s scene) commandTime() time.Duration {
	if s.Limits.Command > 0 {
		return time.Duration(s.Limits.Command) * time.Second
	}
	return 20 * time.Second
}

// theatre plays each scene under a path of its own, and counts the calls.
func theatre(t *testing.T, list []scene) (url string, calls map[string]*atomic.Int64) {
	t.Helper()
	mux := http.NewServeMux()
	calls = map[string]*atomic.Int64{}
	for _, s := range list {
		script := &scripted.Script{Plays: []scripted.Play{{Steps: s.Steps}}}
		h := fakeprovider.Handler(func() (agent.Model, error) { return script.Model("priced", solve.Experiment{}, agent.Price{}), nil })
		h = http.StripPrefix("/"+s.Name, h)
		n := new(atomic.Int64)
		calls[s.Name] = n
		mux.HandleFunc("/"+s.Name+"/", func(w http.ResponseWriter, r *http.Request) { n.Add(1); h.ServeHTTP(w, r) })
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, calls
}

// A take is one scene as the real program plays it, by one of the APIs.
type take struct {
	scene
	api     string
	machine *hostmachine.Machine
}

// file is where the real program leaves its trajectory.
func (k take) file() string { return k.machine.Host(trajectory) }

const trajectory = agent.RunDir + "/mini/run.traj.json"

// TestSameAsNative gives the native agent and the real program the same answers and
// compares what they did: their trajectory files, our transcript of the real one, and
// the trees.
func TestSameAsNative(t *testing.T) {
	t.Parallel()
	base := installed(t)
	list := scenes(t)
	list = list[:require.Sample(len(list), 12)]
	url, calls := theatre(t, list)
	var takes []take
	for _, s := range list {
		for _, api := range append([]string{agent.APIChat}, s.APIs...) {
			m := agenttest.Machine(t)
			takes = append(takes, take{s, api, m})
		}
	}
	played := make(chan error, 1)
	go func() { played <- perform(t, base, url, takes) }()
	native := map[string]*hostmachine.Machine{}
	files := map[string][]byte{}
	for _, s := range list {
		m := agenttest.Machine(t)
		native[s.Name], files[s.Name] = m, s.native(t, url, m)
	}
	if err := <-played; err != nil {
		t.Fatal(err)
	}
	for _, s := range list { // a refused call must not be tried again
		if got, want := calls[s.Name].Load(), int64(s.Calls*(2+len(s.APIs))); got != want {
			t.Errorf("%s: %d calls arrived, want %d", s.Name, got, want)
		}
	}
	var shown []string
	for _, k := range takes {
		t.Run(k.Name+" "+k.api, func(t *testing.T) { k.compare(t, files[k.Name], native[k.Name]) })
		if k.Show {
			ours := filepath.Join(t.TempDir(), k.Name+".traj.json")
			if err := os.WriteFile(ours, files[k.Name], 0o600); err != nil {
				t.Fatal(err)
			}
			shown = append(shown, ours, k.file())
		}
	}
	inspect(t, base, shown)
}

// compare compares with the native agent's trajectory and tree.
func (k take) compare(t *testing.T, native []byte, m *hostmachine.Machine) {
	t.Helper()
	data, err := os.ReadFile(k.file())
	if err != nil {
		t.Fatal(err)
	}
	messages, at, err := miniswe.Program().Collect(t.Context(), k.machine, 0)
	if err != nil {
		t.Fatal(err)
	}
	var lines []byte
	for _, m := range messages {
		line, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	want, got, taken := decode(t, data), decode(t, native), decodeLines(t, data, lines)
	if n := len(want.Roles); at != n {
		t.Errorf("%d messages were taken of %d", at, n)
	}
	if want.Exit != k.Exit || want.Submission != k.Submission || want.Calls != k.Calls {
		t.Errorf("the real program ends with %q, %q after %d calls; the script expects %q, %q, %d", want.Exit, want.Submission, want.Calls, k.Exit, k.Submission, k.Calls)
	}
	if diff := cmp.Diff(taken, got); diff != "" {
		t.Errorf("-real +native:\n%s", diff)
	}
	if diff := cmp.Diff(want, taken); diff != "" && k.api != agent.APIResponses { // of which only the transcript has chat's form
		t.Errorf("-file +transcript:\n%s", diff)
	}
	if a, b := tree(t, k.machine), tree(t, m); a != b {
		t.Errorf("trees differ: real %q, native %q", a, b)
	}
}

// native runs the scene with our own loop and returns its trajectory file.
func (s scene) native(t *testing.T, url string, m *hostmachine.Machine) []byte {
	t.Helper()
	set, err := model.NewSet(model.Config{
		Attempts: 1, RetryWait: time.Second, RetryMax: time.Second,
		Models: []model.Entry{{Name: "priced", Provider: model.OpenAI, BaseURL: url + "/" + s.Name + "/v1", Price: agent.Price{Input: 1e6}}},
	}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	client, err := set.Open("priced", solve.Experiment{})
	if err != nil {
		t.Fatal(err)
	}
	mini := agent.NewMini(agent.DefaultConfig())
	limits := solve.Limits{
		RunSteps: s.Limits.Steps, RunMoney: solve.Money(s.Limits.USD * 1e6), RunTime: time.Duration(s.Limits.Wall) * time.Second,
		CommandTime: s.commandTime(),
	}
	var store agenttest.Store
	res := mini.Run(t.Context(), agent.Job{Task: "Play.", Model: client, Sandbox: m, Tree: m.Tree, Limits: limits, Save: store.Save})
	data, err := mini.Trajectory(store.Lines(), agent.Meta{Limits: limits, Progress: res.Progress})
	if err != nil {
		t.Fatal(err)
	}
	return data
}
