package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
)

func socketPromises() []Promise {
	socket := func(t sandbox.Traits) bool { return t.Socket }
	return []Promise{
		{Name: "socket is reached", Commands: true, Needs: socket, Check: socketReached},
		{Name: "socket opens nothing else", Commands: true, Needs: socket, Check: socketNothingElse},
		{
			Name: "socket beside an allow-list", Commands: true, Check: socketAllow,
			Needs: func(t sandbox.Traits) bool { return t.Socket && t.Network },
		},
		{
			Name: "forks have no socket", Commands: true, Check: socketForks,
			Needs: func(t sandbox.Traits) bool { return t.Socket && t.Fork },
		},
		{Name: "a bad socket is refused", Commands: true, Needs: socket, Check: socketBad},
		{
			Name: "launched reaches the socket", Commands: true, Check: socketLaunched,
			Needs: func(t sandbox.Traits) bool { return t.Socket && t.Launch && t.Attach },
		},
	}
}

// door is a directory with a socket that says a word to everybody who knocks.
type door struct {
	dir    string
	knocks atomic.Int64
	listen net.Listener
}

// openDoor makes the directory, where only this process can walk, and listens.
func openDoor(word string) (*door, error) {
	private, err := os.MkdirTemp("", "yudai-door-")
	if err != nil {
		return nil, fmt.Errorf("make the socket's directory: %w", err)
	}
	d := &door{dir: filepath.Join(private, "d")}
	if err := os.Mkdir(d.dir, 0o755); err != nil { //nolint:gosec // the contract's mode; its parent is private
		return nil, fmt.Errorf("make the socket's directory: %w", err)
	}
	return d, d.open(word)
}

// open listens in the directory, where nothing may listen.
func (d *door) open(word string) error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", filepath.Join(d.dir, sandbox.SocketName))
	if err != nil {
		return fmt.Errorf("listen for the sandbox: %w", err)
	}
	d.listen = l
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.knocks.Add(1)
			_, _ = c.Write([]byte(word + "\n"))
			_ = c.Close()
		}
	}()
	return os.Chmod(filepath.Join(d.dir, sandbox.SocketName), 0o666) //nolint:gosec // the contract's mode
}

// anew closes the socket and makes it again in the same directory.
func (d *door) anew(word string) error {
	_ = d.listen.Close()
	return d.open(word)
}

// close ends all of it.
func (d *door) close() {
	_ = d.listen.Close()
	_ = os.RemoveAll(filepath.Dir(d.dir))
}

// knock asks at the address inside and prints what it is told, or nothing.
func knock() string {
	host, port, _ := strings.Cut(sandbox.SocketAddress, ":")
	return fmt.Sprintf("timeout 20 bash -c 'exec 3<>/dev/tcp/%s/%s && cat <&3' 2>/dev/null", host, port)
}

// knocker is a program that knocks for ever and keeps what it is told in the file it is given.
func knocker() string {
	return "#!/bin/bash\nwhile :; do " + knock() + " >$1; sleep 0.05; done\n"
}

func socketReached(ctx context.Context, h *Harness) error {
	d, err := openDoor("first")
	if err != nil {
		return err
	}
	defer d.close()
	return h.with(ctx, sandbox.Spec{Network: sandbox.Network{Socket: d.dir}}, func(sb sandbox.Sandbox) error {
		for _, text := range []string{knock(), "setsid env -i " + knock(), knock() + "; exit 0"} {
			if err := expect(ctx, sb, text, "first"); err != nil {
				return err
			}
		}
		if err := d.anew("second"); err != nil {
			return err
		}
		if err := expect(ctx, sb, knock(), "second"); err != nil {
			return fmt.Errorf("a socket made anew: %w", err)
		}
		_ = d.listen.Close()
		if err := expect(ctx, sb, knock()+" || true", ""); err != nil {
			return fmt.Errorf("a closed socket: %w", err)
		}
		// It changes nothing about how commands end.
		for text, want := range map[string]int{"exit 3": 3, "kill -TERM $$": 143, "no-such-program": 127} {
			if res, err := sb.Exec(ctx, sandbox.Command{Shell: text}); err != nil || res.ExitCode != want {
				return fmt.Errorf("%q: %+v, %v", text, res, err)
			}
		}
		return nil
	})
}

func socketNothingElse(ctx context.Context, h *Harness) error {
	d, err := openDoor("here")
	if err != nil {
		return err
	}
	defer d.close()
	return h.with(ctx, sandbox.Spec{Network: sandbox.Network{Socket: d.dir}}, func(sb sandbox.Sandbox) error {
		host, port, err := net.SplitHostPort(h.Address)
		if err != nil {
			return err
		}
		text := "env | grep -i _proxy; timeout 5 getent hosts example.org; "
		for _, target := range []string{host + "/" + port, "1.1.1.1/443", "169.254.169.254/80"} {
			text += "timeout 3 bash -c 'exec 3<>/dev/tcp/" + target + " && echo reached " + target + "' 2>/dev/null; "
		}
		out, err := shell(ctx, sb, text+"true")
		if err != nil {
			return err
		}
		if out != "" {
			return fmt.Errorf("more than the socket can be reached: %q", out)
		}
		return expect(ctx, sb, knock(), "here")
	})
}

func socketAllow(ctx context.Context, h *Harness) error {
	d, err := openDoor("here")
	if err != nil {
		return err
	}
	defer d.close()
	spec := sandbox.Spec{Name: h.name("p"), Network: sandbox.Network{Socket: d.dir, Allow: []string{"allowed.invalid"}}}
	sb, err := h.Driver.Open(ctx, spec)
	if errors.Is(err, sandbox.ErrLimit) {
		return nil // a driver may refuse both at once
	}
	if err != nil {
		return fmt.Errorf("both at once are refused, but not with ErrLimit: %w", err)
	}
	defer func() { _ = sb.Close(ctx) }()
	if err := expect(ctx, sb, knock(), "here"); err != nil {
		return err
	}
	if !h.Driver.Traits().Proxy {
		return nil
	}
	out, err := shell(ctx, sb, `p=${HTTP_PROXY#http://}; exec 3<>/dev/tcp/${p%:*}/${p#*:}
printf 'CONNECT forbidden.invalid:443 HTTP/1.1\r\nHost: forbidden.invalid:443\r\n\r\n' >&3; head -1 <&3`)
	if err == nil && !strings.Contains(out, " 403 ") {
		err = fmt.Errorf("a host that is not allowed: %q", out)
	}
	return err
}

func socketForks(ctx context.Context, h *Harness) (err error) {
	f, err := h.forker()
	if err != nil {
		return err
	}
	d, err := openDoor("here")
	if err != nil {
		return err
	}
	defer d.close()
	sb, err := h.Driver.Open(ctx, sandbox.Spec{Name: h.name("base"), Network: sandbox.Network{Socket: d.dir}})
	if err != nil {
		return err
	}
	if err := expect(ctx, sb, knock(), "here"); err != nil {
		return errors.Join(err, sb.Close(ctx))
	}
	base, err := f.Freeze(ctx, sb)
	if err != nil {
		return errors.Join(err, sb.Close(ctx))
	}
	defer func() { err = errors.Join(err, f.Thaw(ctx, base)) }()
	return h.with(ctx, sandbox.Spec{From: base}, func(sb sandbox.Sandbox) error {
		return expect(ctx, sb, knock()+" || true", "")
	})
}

func socketBad(ctx context.Context, h *Harness) error {
	for _, dir := range []string{"relative", filepath.Join(filepath.Dir(h.SecretFile), "no-such-directory"), h.SecretFile} {
		spec := sandbox.Spec{Name: h.name("p"), Network: sandbox.Network{Socket: dir}}
		sb, err := h.Driver.Open(ctx, spec)
		if err == nil {
			_ = sb.Close(ctx)
			return fmt.Errorf("a socket in %q was accepted", dir)
		}
		if !strings.Contains(err.Error(), dir) {
			return fmt.Errorf("the error does not name %q: %w", dir, err)
		}
	}
	return nil
}

func socketLaunched(ctx context.Context, h *Harness) error {
	d, err := openDoor("first")
	if err != nil {
		return err
	}
	defer d.close()
	spec := sandbox.Spec{Network: sandbox.Network{Socket: d.dir}}
	return h.launching(ctx, spec, func(sb sandbox.Sandbox, l sandbox.Launcher) error {
		if err := put(ctx, sb, "/tmp/knock", knocker()); err != nil {
			return err
		}
		text := "setsid env -i bash /tmp/knock /tmp/child & bash /tmp/knock /tmp/own"
		if err := l.Launch(ctx, sandbox.Command{Shell: text}); err != nil {
			return err
		}
		if err := heard(ctx, sb, "first"); err != nil {
			return err
		}
		if err := d.anew("second"); err != nil {
			return err
		}
		if err := heard(ctx, sb, "second"); err != nil {
			return fmt.Errorf("a socket made anew: %w", err)
		}
		_ = d.listen.Close() // as yudai that is away
		again, err := h.Driver.Attach(ctx, sb.Name())
		if err != nil {
			return err
		}
		defer func() { _ = again.Close(ctx) }()
		if err := d.open("third"); err != nil {
			return err
		}
		if err := errors.Join(heard(ctx, again, "third"), expect(ctx, again, knock(), "third")); err != nil {
			return fmt.Errorf("after attach: %w", err)
		}
		if err := again.Close(ctx); err != nil {
			return err
		}
		return d.quiet(ctx)
	})
}

// heard waits until a knocking program and its child were told the word.
func heard(ctx context.Context, sb sandbox.Sandbox, word string) error {
	_, err := shell(ctx, sb, fmt.Sprintf(`for i in $(seq 200); do
  [ "$(cat /tmp/own)" = %[1]s ] && own=1; [ "$(cat /tmp/child)" = %[1]s ] && child=1
  [ "$own$child" = 11 ] && exit 0; sleep 0.05
done 2>/dev/null; echo "own $own child $child"; exit 1`, word))
	return err
}

// quiet returns an error if somebody still knocks.
func (d *door) quiet(ctx context.Context) error {
	before := d.knocks.Load()
	knocked, err := until(ctx, 500*time.Millisecond, func() (bool, error) { return d.knocks.Load() > before, nil })
	if err == nil && knocked {
		err = errors.New("what was launched still knocks after Close")
	}
	return err
}
