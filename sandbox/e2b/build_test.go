package e2b

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/cloud"
	"github.com/yudai-dev/yudai/test/e2bsim"
)

// builderOn builds at a stub without waiting long, and keeps what is shown.
func builderOn(t *testing.T, s *e2bsim.Server, change ...func(*Config)) (*builder, *[]string) {
	t.Helper()
	c := configFor(t, s)
	for _, f := range change {
		f(&c)
	}
	d := driverOn(t, c, bookIn(t, t.TempDir()), cloud.NewTransport(true))
	shown := &[]string{}
	return &builder{config: c, control: d.p.control, show: func(l string) { *shown = append(*shown, l) }, every: 10 * time.Millisecond}, shown
}

// TestBuild: what is built is our Dockerfile, of the configured size, and
// sandboxes start from it.
func TestBuild(t *testing.T) {
	t.Parallel()
	s := service(t, func(o *e2bsim.Options) { o.Templates = []e2bsim.Template{{Name: "base"}} })
	b, shown := builderOn(t, s, func(c *Config) { c.CPUs, c.MemoryMiB = 4, 4096 })
	if err := b.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(*shown) == 0 {
		t.Error("nothing was shown")
	}
	ours, archives, err := ourRecipe()
	if err != nil {
		t.Fatal(err)
	}
	want := e2bsim.Recipe{FromImage: ours.from, StartCmd: startCommand, ReadyCmd: readyCommand}
	for _, step := range ours.steps {
		want.Steps = append(want.Steps, e2bsim.Step{Type: step.Type, Args: step.Args, FilesHash: step.Hash})
	}
	got, ok := s.Recipe("yudai")
	if d := cmp.Diff(want, got); d != "" || !ok {
		t.Errorf("built: %v %s", ok, d)
	}
	if n := s.Calls()[e2bsim.CallUpload]; n != len(archives) {
		t.Errorf("%d uploads, want %d", n, len(archives))
	}
	again, _ := builderOn(t, s)
	if err := again.build(t.Context()); err != nil || s.Calls()[e2bsim.CallUpload] != len(archives) {
		t.Errorf("built again: %v, %d uploads: the service has the files", err, s.Calls()[e2bsim.CallUpload])
	}
	d := driverOn(t, b.config, bookIn(t, t.TempDir()), cloud.NewTransport(true))
	t.Cleanup(func() {
		if _, err := d.Sweep(context.Background(), nobody); err != nil {
			t.Error(err)
		}
	})
	if err := d.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestBuildGoesWrong: the reason is told, with the setting where there is one.
func TestBuildGoesWrong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault  *e2bsim.Fault
		change func(*Config)
		is     error
		says   string
	}{
		"a step fails":      {fault: &e2bsim.Fault{On: e2bsim.CallBuild, Kind: e2bsim.FaultFail, Message: "apt-get said no"}, says: "apt-get said no"},
		"too large":         {change: func(c *Config) { c.CPUs = 64 }, is: sandbox.ErrSetting, says: "sandbox.e2b.cpus"},
		"another's name":    {change: func(c *Config) { c.Template = "theirs" }, is: sandbox.ErrSetting, says: "sandbox.e2b.template"},
		"server fault":      {fault: &e2bsim.Fault{On: e2bsim.CallTemplate, Kind: e2bsim.FaultStatus, Status: 500, Count: -1}, is: sandbox.ErrUnavailable},
		"a look goes wrong": {fault: &e2bsim.Fault{On: e2bsim.CallStatus, Kind: e2bsim.FaultStatus, Status: 502}},
		"an upload, too":    {fault: &e2bsim.Fault{On: e2bsim.CallUpload, Kind: e2bsim.FaultStatus, Status: 503}},
		"bad key":           {fault: &e2bsim.Fault{On: e2bsim.CallTemplate, Kind: e2bsim.FaultStatus, Status: 401}, is: sandbox.ErrSetting, says: "sandbox.e2b.api_key_file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := service(t, func(o *e2bsim.Options) {
				o.Templates = []e2bsim.Template{{Name: "base"}, {Name: "theirs", Foreign: true}}
			})
			if c.fault != nil {
				s.Inject(*c.fault)
			}
			change := c.change
			if change == nil {
				change = func(*Config) {}
			}
			b, _ := builderOn(t, s, change)
			err := b.explain(b.build(t.Context()))
			if c.is == nil && c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || (c.is != nil && !errors.Is(err, c.is)) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v and %q", err, c.is, c.says)
			}
		})
	}
}

// TestBuildOnTheWire: files go up with their exact length and the headers that
// were given, and our key stays at the control plane; logs are read to their end.
func TestBuildOnTheWire(t *testing.T) {
	t.Parallel()
	_, archives, err := ourRecipe()
	if err != nil {
		t.Fatal(err)
	}
	uploads, looks := 0, []string{}
	pages := []string{
		`{"status":"building","logEntries":[{"level":"info","message":"one\u001b[31m\n"},{"level":"error","message":"two","step":"RUN 1"}]}`,
		`{"status":"ready","logEntries":[{"level":"info","message":"three"}]}`,
		`{"status":"ready","logEntries":[]}`,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v3/templates", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"templateID":"t1","buildID":"b1"}`)
	})
	mux.HandleFunc("GET /templates/t1/files/{hash}", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(target{URL: "http://" + r.Host + "/store/" + r.PathValue("hash"), Headers: map[string]string{"X-Given": "yes"}})
	})
	mux.HandleFunc("PUT /store/{hash}", func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		if len(r.TransferEncoding) > 0 || r.ContentLength != int64(len(data)) || r.Header.Get("X-Given") != "yes" || r.Header.Get("X-Api-Key") != "" ||
			!slices.Equal(data, archives[r.PathValue("hash")]) {
			t.Errorf("upload of %d bytes, length %d, %v", len(data), r.ContentLength, r.Header)
		}
		uploads++
	})
	mux.HandleFunc("POST /v2/templates/t1/builds/b1", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	mux.HandleFunc("GET /templates/t1/builds/b1/status", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, pages[min(len(looks), len(pages)-1)])
		looks = append(looks, r.URL.Query().Get("logsOffset"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	var shown []string
	c := DefaultConfig()
	c.APIURL = server.URL
	b := builder{
		config: c, control: controlOn(server.Client(), server.URL),
		show: func(l string) { shown = append(shown, l) }, every: time.Millisecond,
	}
	if err := b.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"one[31m", "error: [RUN 1] two", "three"}, shown); d != "" || uploads != len(archives) {
		t.Errorf("%d uploads; shown %s", uploads, d)
	}
	if d := cmp.Diff([]string{"0", "2", "3"}, looks); d != "" {
		t.Errorf("offsets %s", d)
	}
}
