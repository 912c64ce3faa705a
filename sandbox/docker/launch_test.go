package docker_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

// hiding is a program whose descendants hide in every way there is.
const hiding = `for i in 1 2 3 4; do echo "while :; do echo x >>/tmp/beat$i; sleep 0.02; done" >/tmp/beat$i.sh; done
env -i bash /tmp/beat1.sh &
env -i setsid bash /tmp/beat2.sh &
(env -i setsid bash -c 'setsid bash /tmp/beat3.sh & exit' &)
YUDAI_EXEC=4503599627370497 exec bash /tmp/beat4.sh`

// beats waits until all four beat, or with want 0 tells how many still do.
const beats = `sizes() { stat -c %s /tmp/beat1 /tmp/beat2 /tmp/beat3 /tmp/beat4; }
count() { local a b n=0 i; a=($(sizes)); sleep 0.3; b=($(sizes)); for i in 0 1 2 3; do ((b[i] > a[i])) && ((n++)); done; echo $n; }
exec 2>/dev/null
`

func alive(t *testing.T, sb sandbox.Sandbox) {
	t.Helper()
	output(t, sb, beats+`for i in {1..100}; do [ "$(count)" = 4 ] && exit 0; done; exit 1`)
}

func still(t *testing.T, sb sandbox.Sandbox) {
	t.Helper()
	if n := output(t, sb, beats+"count"); n != "0" {
		t.Errorf("%s processes still run", n)
	}
}

// TestLaunchedAmongStrangers: where every process without a mark of ours ends with the
// command during which it is found, what was launched does not, by whoever it is found; what
// an ordinary command leaves does, whatever it says to be. A base has nothing of it.
func TestLaunchedAmongStrangers(t *testing.T) {
	t.Parallel()
	c, book := config(t), newBook(t)
	dead := driver(t, c, book)
	sb := open(t, dead, sandbox.Spec{Name: "strict", Launch: true})
	if err := sb.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: hiding}); err != nil {
		t.Fatal(err)
	}
	alive(t, sb)
	forge(t, sb)
	alive(t, sb)
	next := driver(t, c, book) // as after the death of yudai
	again, err := next.Attach(t.Context(), "strict")
	if err != nil {
		t.Fatal(err)
	}
	alive(t, again)
	if _, err := again.Exec(t.Context(), sandbox.Command{Shell: "sleep 60", Timeout: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	alive(t, again)
	if err := again.(sandbox.Launcher).Halt(t.Context()); err != nil {
		t.Fatal(err)
	}
	still(t, again)
	if err := again.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: hiding}); err != nil {
		t.Fatal(err)
	}
	alive(t, again)
	base, err := next.Freeze(t.Context(), again)
	if err != nil {
		t.Fatal(err)
	}
	fork := open(t, next, sandbox.Spec{Name: "fork", From: base})
	still(t, fork)
	if got := output(t, fork, "ls -A /workspace/.yudai/launched"); got != "" {
		t.Errorf("notes of a launched program are in the base: %q", got)
	}
	if err := fork.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: "true"}); err == nil {
		t.Error("a fork may launch because its base could")
	}
}

// forge leaves processes behind that say to be something else, and looks for them.
func forge(t *testing.T, sb sandbox.Sandbox) {
	t.Helper()
	output(t, sb, `env -i YUDAI_EXEC=+ setsid sleep 8001 &
env -i YUDAI_KEEP=1 setsid sleep 8002 &
env -i YUDAI_EXEC=4503599627370497 setsid sleep 8003 &
env -i YUDAI_KEEP=1 setsid bash -c 'ulimit -x 9007199254740992; ulimit -x unlimited; ulimit -x 5; exec sleep 8004' 2>/dev/null &
sleep 0.4`)
	if got := output(t, sb, `for f in /proc/[0-9]*/cmdline; do mapfile -d '' -t c <"$f" || continue; [[ ${c[0]} = sleep && ${c[1]} = 800* ]] && echo ${c[1]}; done 2>/dev/null; true`); got != "" {
		t.Errorf("survived their command: %q", got)
	}
}

// TestSocketForwarderComesBack: a command that ends the forwarder has cut the sandbox off
// for a moment only; a directory that nobody inside could read is refused.
func TestSocketForwarderComesBack(t *testing.T) {
	t.Parallel()
	d := setup(t)
	dir := filepath.Join(t.TempDir(), "socket")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	spec := sandbox.Spec{Name: "way", Network: sandbox.Network{Socket: dir}}
	if _, err := d.Open(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "chmod 755") {
		t.Errorf("a private directory: %v", err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as the contract has it
		t.Fatal(err)
	}
	sb := open(t, d, spec)
	serve(t, dir)
	const ask = `for i in {1..200}; do exec 3<>/dev/tcp/127.0.0.1/4141 && read -r -u 3 word && break; sleep 0.05; done 2>/dev/null; echo "$word"; `
	if got := output(t, sb, ask); got != "hello" {
		t.Fatalf("it says %q", got)
	}
	got := output(t, sb, `for f in /proc/[0-9]*; do mapfile -d '' -t c <$f/cmdline || continue; [ "${c[1]}" != forward ] || kill -KILL ${f#/proc/} || echo cannot; done 2>/dev/null; `+ask)
	if got != "hello" {
		t.Errorf("after the forwarder was killed it says %q", got)
	}
}

// serve says hello to everybody who connects.
func serve(t *testing.T, dir string) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(dir, sandbox.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, sandbox.SocketName), 0o666); err != nil { //nolint:gosec // as the contract has it
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello\n"))
			_ = c.Close()
		}
	}()
}

// TestLaunchedFillsTheDisk: the limit holds for a launched program while no command runs,
// for a new owner, too.
func TestLaunchedFillsTheDisk(t *testing.T) {
	t.Parallel()
	c, book := config(t), newBook(t)
	d := driver(t, c, book)
	sb := open(t, d, sandbox.Spec{Name: "greedy", Launch: true, Limits: sandbox.Limits{Disk: 20 << 20}})
	text := `until [ -e /tmp/go ]; do sleep 0.02; done; while :; do head -c 1000000 /dev/zero >>/tmp/big; sleep 0.01; done`
	if err := sb.(sandbox.Launcher).Launch(t.Context(), sandbox.Command{Shell: text}); err != nil {
		t.Fatal(err)
	}
	again, err := driver(t, c, book).Attach(t.Context(), "greedy")
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Put(t.Context(), "/tmp/go", strings.NewReader(""), 0o644); err != nil {
		t.Fatal(err)
	}
	awaitFull(t, again.(sandbox.Launcher))
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// awaitFull polls until the disk limit was exceeded.
func awaitFull(t *testing.T, sb sandbox.Launcher) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(time.Minute); ; <-tick.C {
		runs, err := sb.Launched(t.Context())
		if errors.Is(err, sandbox.ErrDisk) {
			return
		}
		if err != nil || !runs || time.Now().After(until) {
			t.Fatalf("%v, %v; want ErrDisk", runs, err)
		}
	}
}
