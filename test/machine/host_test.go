package machine_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/yudai-dev/yudai/test/machine"
)

// TestHosts: a host is reached while a rule names it, by its port only, also from a copy,
// and nothing else of this machine is.
func TestHosts(t *testing.T) {
	t.Parallel()
	var came atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came.Add(1)
		_, _ = w.Write([]byte("hello " + r.Host))
	}))
	defer s.Close()
	var rules atomic.Pointer[[]string]
	options := func(o *machine.Options) {
		o.Hosts = map[string]string{"a.example:80": s.Listener.Addr().String(), "b.example:8080": s.Listener.Addr().String()}
		o.Allowed = func() []string { return *rules.Load() }
	}
	m := start(t, options)
	ask := func(m *machine.Machine, url string) string {
		return run(t, m, machine.User, `python3 -c 'import sys, urllib.request
try: print(urllib.request.urlopen(sys.argv[1]).read().decode())
except OSError as e: print("no")' `+url)
	}
	for _, tt := range []struct{ rules, url, want string }{
		{"", "http://a.example", "no"},
		{"a.example", "http://a.example", "hello a.example"},
		{"a.example", "http://a.example:8080", "no"},
		{"a.example", "http://b.example:8080", "no"},
		{"x.example *.example", "http://b.example:8080", "hello b.example:8080"},
		{"*.a.example example", "http://a.example", "no"},
		{"a.example", s.URL, "no"},
	} {
		list := strings.Fields(tt.rules)
		rules.Store(&list)
		if got := ask(m, tt.url); got != tt.want {
			t.Errorf("%s where %q is allowed: %q, want %q", tt.url, tt.rules, got, tt.want)
		}
	}
	if n := came.Load(); n != 2 {
		t.Errorf("%d requests came", n)
	}
	o := machine.Options{Dir: t.TempDir() + "/copy"}
	options(&o)
	b, err := m.Copy(o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got := ask(b, "http://a.example"); got != "hello a.example" {
		t.Errorf("a copy: %q", got)
	}
	rules.Store(&[]string{})
	without := start(t, func(o *machine.Options) { options(o); o.Allowed = nil })
	if got := ask(without, "http://a.example"); got != "no" {
		t.Errorf("without rules: %q", got)
	}
}
