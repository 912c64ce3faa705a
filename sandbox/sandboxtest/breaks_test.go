package sandboxtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/yudai-dev/yudai/sandbox"
)

// result breaks what Exec returns.
func result(change func(*sandbox.Result, *error)) func() *broken {
	return func() *broken {
		return &broken{box: func(w *brokenBox) {
			w.exec = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
				res, err := w.Sandbox.Exec(ctx, c)
				change(&res, &err)
				return res, err
			}
		}}
	}
}

// command breaks what Exec is given.
func command(change func(*sandbox.Command)) func() *broken {
	return func() *broken {
		return &broken{box: func(w *brokenBox) {
			w.exec = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
				change(&c)
				return w.Sandbox.Exec(ctx, c)
			}
		}}
	}
}

// leak appends what a command would see without walls.
func leak(seen func(c sandbox.Command) string) func() *broken {
	return command(func(c *sandbox.Command) {
		text := seen(*c)
		if c.Shell != "" && text != "" {
			c.Shell += "\necho '" + strings.ReplaceAll(text, "'", "") + "'"
		}
	})
}

// onHost says what the command prints on the host, with a few files.
func onHost(c sandbox.Command) string {
	out, _ := exec.Command("bash", "-c", c.Shell).CombinedOutput()
	return string(out)
}

// never lets commands run on after the driver said they ended.
func never(says error) func() *broken {
	return func() *broken {
		return &broken{box: func(w *brokenBox) {
			w.exec = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
				if !strings.Contains(c.Shell, "trap") {
					return w.Sandbox.Exec(ctx, c)
				}
				timeout := c.Timeout
				c.Timeout = 0
				go func() { _, _ = w.Sandbox.Exec(context.WithoutCancel(ctx), c) }()
				if timeout > 0 {
					ctx, cancel := context.WithTimeout(ctx, timeout)
					defer cancel()
					<-ctx.Done()
					return sandbox.Result{ExitCode: -1, TimedOut: true}, nil
				}
				<-ctx.Done()
				return sandbox.Result{}, says
			}
		}}
	}
}

// files breaks Get and Put.
func files(change func(w *brokenBox)) func() *broken {
	return func() *broken { return &broken{box: change} }
}

// breaks has for every promise a driver that does not keep it.
func breaks() map[string]func() *broken {
	all := map[string]func() *broken{}
	for _, part := range []map[string]func() *broken{breaksOfCommands(), breaksOfWalls(), breaksOfFiles(), breaksOfLife(), breaksOfForks(), breaksOfLaunches(), breaksOfSockets(), breaksOfLimits()} {
		for name, b := range part {
			all[name] = b
		}
	}
	return all
}

func breaksOfCommands() map[string]func() *broken {
	return map[string]func() *broken{
		"exit codes":                  result(func(r *sandbox.Result, _ *error) { r.ExitCode = min(r.ExitCode, 1) }),
		"missing program is a result": result(func(r *sandbox.Result, err *error) { *err = fs.ErrNotExist }),
		"separate streams":            command(func(c *sandbox.Command) { c.Stderr = c.Stdout }),
		"one writer keeps order": command(func(c *sandbox.Command) {
			c.Stderr = struct{ io.Writer }{io.Discard}
		}),
		"output limit": command(func(c *sandbox.Command) { c.MaxOutput *= 2 }),
		"input":        command(func(c *sandbox.Command) { c.Stdin = nil }),
		"fixed environment": command(func(c *sandbox.Command) {
			c.Env = map[string]string{"HOME": "/root"}
		}),
		"directory":         command(func(c *sandbox.Command) { c.Dir = "/tmp" }),
		"long command text": command(func(c *sandbox.Command) { c.Shell = c.Shell[:min(len(c.Shell), 100_000)] }),
		"commands at once": func() *broken {
			var one sync.Mutex
			return &broken{box: func(w *brokenBox) {
				w.exec = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
					one.Lock()
					defer one.Unlock()
					c.Shell = strings.ReplaceAll(c.Shell, "600", "6")
					return w.Sandbox.Exec(ctx, c)
				}
			}}
		},
		"neither argv nor shell": result(func(_ *sandbox.Result, err *error) { *err = nil }),

		"timeout kills the process tree": never(nil),
		"cancel kills the process tree":  never(context.Canceled),
		"cancelled before the start": func() *broken {
			return &broken{box: func(w *brokenBox) {
				w.exec = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
					return w.Sandbox.Exec(context.WithoutCancel(ctx), c)
				}
			}}
		},
		"background ends with its command": func() *broken {
			return &broken{box: func(w *brokenBox) {
				w.exec = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
					if strings.HasPrefix(c.Shell, "setsid") {
						stay := c
						stay.Shell = strings.ReplaceAll(c.Shell, "exit 0", "sleep 60")
						stay.Stdout, stay.Stderr = nil, nil
						go func() { _, _ = w.Sandbox.Exec(ctx, stay) }()
					}
					return w.Sandbox.Exec(ctx, c)
				}
			}}
		},
		"a writer that blocks does not hang": func() *broken {
			return &broken{box: func(w *brokenBox) {
				w.exec = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
					var out bytes.Buffer
					to := c.Stdout
					c.Stdout = &out
					res, err := w.Sandbox.Exec(ctx, c)
					if _, e := to.Write(out.Bytes()); e != nil {
						err = e
					}
					return res, err
				}
			}}
		},
		"close ends commands": func() *broken {
			return &broken{box: func(w *brokenBox) {
				w.exec = func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) {
					res, err := w.Sandbox.Exec(ctx, c)
					if err != nil {
						err = errors.New("something else")
					}
					return res, err
				}
			}}
		},
	}
}

func breaksOfWalls() map[string]func() *broken {
	return map[string]func() *broken{
		"no host environment": command(func(c *sandbox.Command) {
			c.Env = map[string]string{"YUDAI_CANARY": os.Getenv("YUDAI_CANARY")}
		}),
		"no host files":                    leak(onHost),
		"no host processes":                leak(onHost),
		"no network unless asked":          leak(onHost),
		"not privileged":                   leak(func(sandbox.Command) string { return "kernel settings" }),
		"other sandboxes are out of sight": shared,
		"allow-list refuses and tells":     command(func(c *sandbox.Command) { c.Env = map[string]string{"https_proxy": ""} }),
	}
}

// shared gives the same sandbox again and again.
func shared() *broken {
	b := &broken{}
	var opening sync.Mutex
	var first sandbox.Sandbox
	b.open = func(ctx context.Context, d driver, spec sandbox.Spec) (_ sandbox.Sandbox, err error) {
		opening.Lock()
		defer opening.Unlock()
		if first == nil {
			first, err = d.Open(ctx, spec)
		}
		return first, err
	}
	return b
}

func breaksOfFiles() map[string]func() *broken {
	return map[string]func() *broken{
		"files go in and out": files(func(w *brokenBox) {
			w.put = func(ctx context.Context, p string, r io.Reader, mode fs.FileMode) error {
				return w.Sandbox.Put(ctx, p, io.LimitReader(r, 1000), mode)
			}
		}),
		"files have their mode": files(func(w *brokenBox) {
			w.put = func(ctx context.Context, p string, r io.Reader, _ fs.FileMode) error {
				return w.Sandbox.Put(ctx, p, r, 0o644)
			}
		}),
		"paths cannot escape": files(func(w *brokenBox) {
			w.get = func(ctx context.Context, p string) (io.ReadCloser, error) {
				if r, err := os.Open(path.Clean(p)); err == nil {
					return r, nil
				}
				return w.Sandbox.Get(ctx, p)
			}
		}),
		"links cannot escape": files(func(w *brokenBox) {
			w.get = func(ctx context.Context, p string) (io.ReadCloser, error) {
				to, res, err := sandbox.Output(ctx, w.Sandbox, sandbox.Command{Argv: []string{"readlink", p}})
				if err == nil && res.ExitCode == 0 {
					return os.Open(strings.TrimSpace(to))
				}
				return w.Sandbox.Get(ctx, p)
			}
		}),
		"only regular files come out": files(func(w *brokenBox) {
			w.get = func(ctx context.Context, p string) (io.ReadCloser, error) {
				r, err := w.Sandbox.Get(ctx, p)
				if errors.Is(err, sandbox.ErrPath) {
					return io.NopCloser(strings.NewReader("")), nil
				}
				return r, err
			}
		}),
		"a broken input leaves no file": files(func(w *brokenBox) {
			w.put = func(ctx context.Context, p string, r io.Reader, mode fs.FileMode) error {
				data, err := io.ReadAll(r)
				return errors.Join(err, w.Sandbox.Put(ctx, p, bytes.NewReader(data), mode))
			}
		}),
	}
}

func breaksOfLife() map[string]func() *broken {
	return map[string]func() *broken{
		"close twice": files(func(w *brokenBox) {
			var n atomic.Int64
			w.close = func(ctx context.Context) error {
				if n.Add(1) > 1 {
					return errors.New("already closed")
				}
				return w.Sandbox.Close(ctx)
			}
		}),
		"closed is gone": files(func(w *brokenBox) { w.close = func(context.Context) error { return nil } }),
		"names are unique and checked": func() *broken {
			b := &broken{}
			b.open = func(ctx context.Context, d driver, spec sandbox.Spec) (sandbox.Sandbox, error) {
				if sb := b.known(spec.Name); sb != nil {
					return sb, nil
				}
				return d.Open(ctx, spec)
			}
			return b
		},
		"a failed open leaves nothing": func() *broken {
			return &broken{open: func(ctx context.Context, d driver, spec sandbox.Spec) (sandbox.Sandbox, error) {
				sb, err := d.Open(ctx, spec)
				if err != nil { // something stays behind
					_, _ = d.Open(context.WithoutCancel(ctx), sandbox.Spec{Name: spec.Name})
				}
				return sb, err
			}}
		},
		"sweep removes and spares": func() *broken {
			return &broken{sweep: func(ctx context.Context, d driver, keep func(sandbox.Info) bool) ([]string, error) {
				return d.Sweep(ctx, func(i sandbox.Info) bool { return keep(i) && !strings.HasSuffix(i.Name, "-kept") })
			}}
		},
		"sweep lists before it asks": func() *broken {
			return &broken{sweep: func(ctx context.Context, d driver, keep func(sandbox.Info) bool) ([]string, error) {
				kept := map[string]bool{}
				_, _ = d.Sweep(ctx, func(i sandbox.Info) bool { kept[i.Name] = keep(i); return true })
				return d.Sweep(ctx, func(i sandbox.Info) bool { return kept[i.Name] })
			}}
		},
		"attach finds the files": func() *broken {
			return &broken{attach: func(ctx context.Context, d driver, name string) (sandbox.Sandbox, error) {
				if sb, err := d.Attach(ctx, name); err != nil {
					return sb, err
				}
				return d.Open(ctx, sandbox.Spec{Name: name + "-new"})
			}}
		},
		"attach ends old commands": func() *broken {
			b := &broken{}
			b.attach = func(_ context.Context, _ driver, name string) (sandbox.Sandbox, error) { return b.known(name), nil }
			return b
		},
		"many at once": shared,
		"driver works": func() *broken { return &broken{check: sandbox.ErrUnavailable} },
	}
}

func breaksOfForks() map[string]func() *broken {
	constant := files(func(w *brokenBox) { w.stamp = func() (string, error) { return "same", nil } })
	sharing := func() *broken {
		b := &broken{}
		b.open = func(ctx context.Context, d driver, spec sandbox.Spec) (sandbox.Sandbox, error) {
			if sb := b.known("fork"); sb != nil && spec.From != "" {
				return sb, nil
			}
			sb, err := d.Open(ctx, spec)
			if err == nil && spec.From != "" {
				sb = &brokenBox{Sandbox: sb}
				b.mu.Lock()
				b.boxes["fork"] = sb
				b.mu.Unlock()
			}
			return sb, err
		}
		return b
	}
	empty := func() *broken {
		return &broken{open: func(ctx context.Context, d driver, spec sandbox.Spec) (sandbox.Sandbox, error) {
			spec.From = ""
			return d.Open(ctx, spec)
		}}
	}
	return map[string]func() *broken{
		"forks are independent":         sharing,
		"forks keep all kinds of files": empty,
		"forks of forks":                empty,
		"freeze and thaw":               func() *broken { return &broken{has: func(string) bool { return true }} },
		"sweep knows bases": func() *broken {
			return &broken{sweep: func(ctx context.Context, d driver, keep func(sandbox.Info) bool) ([]string, error) {
				return d.Sweep(ctx, func(i sandbox.Info) bool { return i.Base || keep(i) })
			}}
		},
		"stamp":           constant,
		"stamp of a fork": constant,
	}
}

func breaksOfLimits() map[string]func() *broken {
	unlimited := func() *broken {
		return &broken{open: func(ctx context.Context, d driver, spec sandbox.Spec) (sandbox.Sandbox, error) {
			spec.Limits = sandbox.Limits{Memory: 1 << 30, Processes: 2000, CPUs: 2, Disk: 300 << 20}
			return d.Open(ctx, spec)
		}}
	}
	return map[string]func() *broken{
		"memory limit": unlimited,
		"cpu limit": command(func(c *sandbox.Command) {
			c.Shell = strings.ReplaceAll(c.Shell, "times | tail -1", "echo 0m1.4s 0m0.0s")
		}),
		"disk limit":                result(func(_ *sandbox.Result, err *error) { *err = nil }),
		"process limit":             command(func(c *sandbox.Command) { c.Shell = strings.ReplaceAll(c.Shell, "echo $#", fmt.Sprint("echo ", 300)) }),
		"negative limit is refused": unlimited,
	}
}
