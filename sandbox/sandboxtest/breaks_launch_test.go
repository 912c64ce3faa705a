package sandboxtest_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"github.com/yudai-dev/yudai/sandbox"
)

// specs breaks what Open is given.
func specs(change func(*sandbox.Spec)) func() *broken {
	return func() *broken {
		return &broken{open: func(ctx context.Context, d driver, spec sandbox.Spec) (sandbox.Sandbox, error) {
			change(&spec)
			return d.Open(ctx, spec)
		}}
	}
}

func breaksOfLaunches() map[string]func() *broken {
	return map[string]func() *broken{
		"launch needs to be asked for": specs(func(s *sandbox.Spec) { s.Launch = true }),
		"one launch at a time": files(func(w *brokenBox) {
			w.launch = func(ctx context.Context, l sandbox.Launcher, c sandbox.Command) error {
				_ = l.Halt(ctx)
				return l.Launch(ctx, c)
			}
		}),
		"launch takes what exec takes": files(func(w *brokenBox) {
			w.launch = func(ctx context.Context, l sandbox.Launcher, c sandbox.Command) error {
				c.Dir = "/tmp"
				return l.Launch(ctx, c)
			}
		}),
		"launch has no streams": files(func(w *brokenBox) {
			w.launch = func(ctx context.Context, _ sandbox.Launcher, c sandbox.Command) error {
				_, err := w.Sandbox.Exec(ctx, c)
				return err
			}
		}),
		"launched outlives other commands": files(func(w *brokenBox) {
			w.exec = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
				res, err := w.Sandbox.Exec(ctx, c)
				if c.Timeout > 0 {
					_ = w.launcher().Halt(ctx)
				}
				return res, err
			}
		}),
		"launch ends by its timeout": files(func(w *brokenBox) {
			w.launch = func(ctx context.Context, l sandbox.Launcher, c sandbox.Command) error {
				c.Timeout = 0
				return l.Launch(ctx, c)
			}
			w.launched = func(context.Context, sandbox.Launcher) (bool, error) { return false, nil }
		}),
		"launched says when it has ended": files(func(w *brokenBox) {
			w.launched = func(context.Context, sandbox.Launcher) (bool, error) { return false, nil }
		}),
		"halt kills the whole tree": files(func(w *brokenBox) {
			w.halt = func(context.Context, sandbox.Launcher) error { return nil }
		}),
		"close ends the launched": files(func(w *brokenBox) { w.close = func(context.Context) error { return nil } }),
		"attach finds the launched": func() *broken {
			return &broken{attach: func(ctx context.Context, d driver, name string) (sandbox.Sandbox, error) {
				sb, err := d.Attach(ctx, name)
				if err == nil {
					_ = sb.(sandbox.Launcher).Halt(ctx)
				}
				return sb, err
			}}
		},
	}
}

func breaksOfSockets() map[string]func() *broken {
	without := specs(func(s *sandbox.Spec) { s.Network.Socket = "" })
	return map[string]func() *broken{
		"socket is reached":           oldSocket,
		"socket opens nothing else":   leak(onHost),
		"socket beside an allow-list": without,
		"forks have no socket": func() *broken {
			var one sync.Mutex
			last := ""
			return specs(func(s *sandbox.Spec) {
				one.Lock()
				defer one.Unlock()
				if s.From != "" {
					s.Network.Socket = last
				}
				last = s.Network.Socket
			})()
		},
		"a bad socket is refused":     without,
		"launched reaches the socket": files(func(w *brokenBox) { w.close = func(context.Context) error { return nil } }),
	}
}

// oldSocket shows a socket as it was when the sandbox was opened, and no later one.
func oldSocket() *broken {
	return specs(func(s *sandbox.Spec) {
		dir := filepath.Join(filepath.Dir(s.Network.Socket), "old")
		if os.Mkdir(dir, 0o755) != nil { //nolint:gosec // as the contract says
			return
		}
		if os.Link(filepath.Join(s.Network.Socket, sandbox.SocketName), filepath.Join(dir, sandbox.SocketName)) == nil {
			s.Network.Socket = dir
		}
	})()
}
