package e2bsim_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/test/e2bsim"
)

// TestCommand: a sandbox is made, works, and is gone.
func TestCommand(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, map[string]any{"envVars": map[string]string{"COLOUR": "red"}})
	if got := say(t, s, box, `echo hi; id -un; echo "$COLOUR $E2B_SANDBOX_ID"; pwd`); got != "hi\nuser\nred "+box.ID+"\n/home/user" {
		t.Errorf("%q", got)
	}
	file(t, s, box, "POST", "/files?path=d/f", "content").want(http.StatusOK)
	if got := file(t, s, box, "GET", "/files?path=/home/user/d/f", "").want(http.StatusOK); got.text != "content" {
		t.Errorf("%q", got.text)
	}
	if d := cmp.Diff([]string{box.ID}, s.Billed()); d != "" {
		t.Error(d)
	}
	call(t, s, "DELETE", "/sandboxes/"+box.ID, nil).want(http.StatusNoContent)
	call(t, s, "DELETE", "/sandboxes/"+box.ID, nil).want(http.StatusNotFound)
	if got := file(t, s, box, "GET", "/health", ""); got.status != http.StatusBadGateway || !strings.Contains(got.text, "was not found") {
		t.Errorf("a sandbox that is gone: %d, %s", got.status, got.text)
	}
	if len(s.Billed()) > 0 || s.Calls()[e2bsim.CallCreate] != 1 || s.Calls()[e2bsim.CallKill] != 2 {
		t.Errorf("billed %q, calls %v", s.Billed(), s.Calls())
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *e2bsim.Options) {
		o.Templates = []e2bsim.Template{{Name: "base"}, {Name: "theirs", Foreign: true}, {Name: "old", Version: "0.4.9"}}
	})
	for _, c := range []struct {
		body map[string]any
		want int
		says string
	}{
		{map[string]any{"templateID": "missing"}, 404, "missing"},
		{map[string]any{"templateID": "theirs"}, 403, "access"},
		{map[string]any{"templateID": "base", "timeout": 0}, 400, "timeout"},
		{map[string]any{"templateID": "base", "timeout": 3601}, 400, "1 hours"},
		{map[string]any{"templateID": "base", "autoResume": map[string]any{"enabled": true}}, 400, "autoPause"},
		{map[string]any{"templateID": "base", "network": map[string]any{"denyOut": []string{"example.org"}}}, 400, "CIDR"},
		{map[string]any{"templateID": "base", "network": map[string]any{"allowOut": []string{"*.example.org"}}}, 400, "deny out"},
	} {
		if got := call(t, s, "POST", "/v2/sandboxes", c.body).want(c.want); !strings.Contains(got.text, c.says) {
			t.Errorf("%v: %s", c.body, got.text)
		}
	}
	old := create(t, s, map[string]any{"templateID": "old"})
	call(t, s, "POST", "/sandboxes/"+old.ID+"/fork", map[string]any{"timeout": 60}).want(400)
	call(t, s, "GET", "/sandboxes/unknown", nil).want(404)
	s.Revoke(e2bsim.Key)
	call(t, s, "GET", "/sandboxes/"+old.ID, nil).want(401)
}

// TestExpiry: the end comes by itself, kills or pauses, and can be moved.
func TestExpiry(t *testing.T) {
	t.Parallel()
	s := start(t)
	dies, sleeps := create(t, s, map[string]any{"timeout": 60}), create(t, s, map[string]any{"timeout": 60, "autoPause": true})
	s.Advance(50 * time.Second)
	call(t, s, "POST", "/sandboxes/"+dies.ID+"/timeout", map[string]any{"timeout": 20}).want(204)
	call(t, s, "POST", "/sandboxes/"+dies.ID+"/refreshes", map[string]any{"duration": 15}).want(204) // shorter: nothing changes
	s.Advance(16 * time.Second)
	if d := cmp.Diff([]string{dies.ID}, s.Billed()); d != "" {
		t.Errorf("billed: %s", d)
	}
	if d := cmp.Diff([]string{sleeps.ID}, s.Stored()); d != "" {
		t.Errorf("stored: %s", d)
	}
	s.Advance(5 * time.Second)
	call(t, s, "GET", "/sandboxes/"+dies.ID, nil).want(404)
	if got := file(t, s, dies, "GET", "/health", ""); got.status != http.StatusBadGateway {
		t.Errorf("after the end: %d", got.status)
	}
	// In real time, too.
	short := create(t, s, map[string]any{"timeout": 1})
	await(t, "the end of a second", func() bool { return !slices.Contains(s.Billed(), short.ID) })
	if got := call(t, s, "GET", "/sandboxes/"+sleeps.ID, nil).want(200); !strings.Contains(got.text, `"state":"paused"`) {
		t.Error(got.text)
	}
}

// TestSessionLength: no sandbox outlives the plan's session.
func TestSessionLength(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *e2bsim.Options) { o.Plan.Session = time.Minute })
	box := create(t, s, map[string]any{"timeout": 60})
	call(t, s, "POST", "/sandboxes/"+box.ID+"/timeout", map[string]any{"timeout": 3600}).want(204)
	s.Advance(61 * time.Second)
	if len(s.Billed()) > 0 {
		t.Error("it lives on")
	}
}

type item struct {
	ID    string `json:"sandboxID"`
	State string `json:"state"`
}

func TestListPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	var want []string
	for i := range 3 {
		want = append(want, create(t, s, map[string]any{"metadata": map[string]string{"app": "x y", "n": fmt.Sprint(i)}}).ID)
		s.Advance(time.Second)
	}
	create(t, s, map[string]any{"metadata": map[string]string{"app": "other"}})
	call(t, s, "POST", "/sandboxes/"+want[1]+"/pause", nil).want(204)
	filter := url.Values{"metadata": {"app=" + url.QueryEscape(url.QueryEscape("x y"))}, "limit": {"2"}}
	var got []string
	for pages := 1; ; pages++ {
		a := call(t, s, "GET", "/v2/sandboxes?"+filter.Encode(), nil).want(200)
		if a.header.Get("X-Total-Running") != "2" {
			t.Errorf("X-Total-Running is %q", a.header.Get("X-Total-Running"))
		}
		for _, i := range as[[]item](a) {
			got = append(got, i.ID)
		}
		next := a.header.Get("X-Next-Token")
		if next == "" {
			if pages != 2 {
				t.Errorf("%d pages", pages)
			}
			break
		}
		filter.Set("nextToken", next)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := as[[]item](call(t, s, "GET", "/v2/sandboxes?state=paused&order=desc", nil)); len(got) != 1 || got[0].ID != want[1] {
		t.Errorf("paused: %v", got)
	}
	if got := as[[]item](call(t, s, "GET", "/sandboxes", nil)); len(got) != 3 {
		t.Errorf("the first version lists what runs: %v", got)
	}
}

// TestFork: the copies have the files and secrets of their own, each may fail alone,
// and the original lives on with its streams cut.
func TestFork(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *e2bsim.Options) { o.Plan.Concurrent, o.Plan.ForkCap = 4, 20 })
	box := create(t, s, map[string]any{"metadata": map[string]string{"app": "x"}})
	create(t, s, nil)
	say(t, s, box, "echo one >f")
	stream, pid := begin(t, t.Context(), s, box, "exec sleep 300")
	type copied struct {
		Sandbox *made `json:"sandbox"`
		Error   *struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	all := as[[]copied](call(t, s, "POST", "/sandboxes/"+box.ID+"/fork", map[string]any{"timeout": 60, "count": 3}).want(201))
	var copies []made
	refused := 0
	for _, c := range all {
		switch {
		case c.Sandbox != nil && c.Error == nil:
			copies = append(copies, *c.Sandbox)
		case c.Error != nil && c.Error.Code == 429 && c.Sandbox == nil:
			refused++
		}
	}
	if len(copies) != 2 || refused != 1 || copies[0].Token == copies[1].Token || copies[0].Token == box.Token {
		t.Fatalf("%+v", all)
	}
	if stream.Receive() || stream.Err() == nil {
		t.Error("the stream of the original was not cut")
	}
	say(t, s, copies[0], "echo two >f")
	if got := say(t, s, copies[1], "cat f; pgrep -c sleep || true") + say(t, s, box, fmt.Sprintf("cat f; ps -o comm= -p %d", pid)); got != "one\n0one\nsleep" {
		t.Errorf("%q", got)
	}
	if got := s.Metadata(copies[0].ID); got["app"] != "x" {
		t.Errorf("metadata %v", got)
	}
	if got := file(t, s, made{copies[0].ID, box.Token}, "GET", "/envs", ""); got.status != 401 {
		t.Errorf("the original's token in a copy: %d", got.status)
	}
	for _, count := range []int{4, 21} {
		call(t, s, "POST", "/sandboxes/"+box.ID+"/fork", map[string]any{"timeout": 60, "count": count}).want(400)
	}
	call(t, s, "POST", "/sandboxes/unknown/fork", map[string]any{"timeout": 60}).want(404)
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, map[string]any{"envVars": map[string]string{"COLOUR": "red"}})
	say(t, s, box, "echo one >f")
	type snapshot struct {
		ID    string   `json:"snapshotID"`
		Names []string `json:"names"`
	}
	plain := as[snapshot](call(t, s, "POST", "/sandboxes/"+box.ID+"/snapshots", map[string]any{}).want(201))
	named := as[snapshot](call(t, s, "POST", "/sandboxes/"+box.ID+"/snapshots", map[string]any{"name": "mine:v1"}).want(201))
	if d := cmp.Diff(snapshot{"yudai/mine:v1", []string{"yudai/mine:v1"}}, named); d != "" {
		t.Error(d)
	}
	call(t, s, "DELETE", "/sandboxes/"+box.ID, nil).want(204)
	if got := as[[]snapshot](call(t, s, "GET", "/snapshots?sandboxID="+box.ID, nil)); len(got) != 2 || len(s.Stored()) != 2 {
		t.Errorf("%v, %v", got, s.Stored())
	}
	same := create(t, s, map[string]any{"templateID": plain.ID})
	other := create(t, s, map[string]any{"templateID": named.ID, "envVars": map[string]string{"SHAPE": "round"}})
	if got := say(t, s, same, "cat f; echo $COLOUR") + say(t, s, other, "cat f; echo $COLOUR $SHAPE"); got != "one\nredone\nround" {
		t.Errorf("%q", got)
	}
	call(t, s, "DELETE", "/templates/"+url.PathEscape(named.ID), nil).want(400)
	call(t, s, "DELETE", "/sandboxes/"+other.ID, nil).want(204)
	call(t, s, "DELETE", "/templates/"+url.PathEscape(named.ID), nil).want(204)
	call(t, s, "DELETE", "/templates/"+url.PathEscape(named.ID), nil).want(404)
	if d := cmp.Diff([]string{plain.ID}, s.Stored()); d != "" {
		t.Error(d)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, nil)
	say(t, s, box, "echo kept >f")
	path := "/sandboxes/" + box.ID
	call(t, s, "POST", path+"/pause", map[string]any{"memory": true}).want(204)
	call(t, s, "POST", path+"/pause", nil).want(409)
	call(t, s, "POST", path+"/fork", map[string]any{"timeout": 60}).want(404)
	if got := file(t, s, box, "GET", "/health", ""); got.status != http.StatusBadGateway || len(s.Billed()) > 0 {
		t.Errorf("paused: %d, billed %v", got.status, s.Billed())
	}
	awake := as[made](call(t, s, "POST", "/v2"+path+"/connect", map[string]any{"timeout": 60}).want(201))
	if awake.Token == box.Token || say(t, s, awake, "cat f") != "kept" {
		t.Errorf("%+v", awake)
	}
	call(t, s, "POST", "/v2"+path+"/connect", nil).want(200)
	call(t, s, "POST", path+"/resume", nil).want(409)
	call(t, s, "POST", "/v2/sandboxes/unknown/connect", nil).want(404)
}

// TestBothLimits: too many at once has no Retry-After, too fast has one.
func TestBothLimits(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *e2bsim.Options) { o.Plan = e2bsim.Plan{Concurrent: 1, Creations: 1} })
	create(t, s, nil)
	fast := call(t, s, "POST", "/v2/sandboxes", map[string]any{"templateID": "base"}).want(429)
	if fast.header.Get("Retry-After") != "1" || fast.header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("too fast: %v", fast.header)
	}
	s.Advance(time.Second)
	full := call(t, s, "POST", "/v2/sandboxes", map[string]any{"templateID": "base"}).want(429)
	if full.header.Get("Retry-After") != "" || !strings.Contains(full.text, "maximum number of concurrent") {
		t.Errorf("too many: %v, %s", full.header, full.text)
	}
}

func TestFirstVersionOnly(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *e2bsim.Options) { o.NoV2, o.NoFork = true, true })
	call(t, s, "POST", "/v2/sandboxes", map[string]any{"templateID": "base"}).want(404)
	open := as[made](call(t, s, "POST", "/sandboxes", map[string]any{"templateID": "base", "timeout": 60}).want(201))
	shut := as[made](call(t, s, "POST", "/sandboxes", map[string]any{"templateID": "base", "secure": true}).want(201))
	if open.Token != "" || shut.Token == "" {
		t.Errorf("%+v, %+v", open, shut)
	}
	call(t, s, "POST", "/sandboxes/"+shut.ID+"/fork", map[string]any{"timeout": 60}).want(404)
	s.Advance(20 * time.Second)
	if d := cmp.Diff([]string{open.ID}, s.Billed()); d != "" {
		t.Errorf("the first version's time is 15 s: %s", d)
	}
}

func TestNetworkRules(t *testing.T) {
	t.Parallel()
	s := start(t)
	box := create(t, s, map[string]any{"allow_internet_access": false})
	if _, _, internet := s.Network(box.ID); internet {
		t.Error("the Internet is open")
	}
	call(t, s, "PUT", "/sandboxes/"+box.ID+"/network", map[string]any{"allowOut": []string{"example.org"}}).want(400)
	call(t, s, "PUT", "/sandboxes/"+box.ID+"/network", map[string]any{"allowOut": []string{"example.org"}, "denyOut": []string{"0.0.0.0/0"}}).want(204)
	allow, deny, internet := s.Network(box.ID)
	if d := cmp.Diff([]any{[]string{"example.org"}, []string{"0.0.0.0/0"}, true}, []any{allow, deny, internet}); d != "" {
		t.Error(d)
	}
}
