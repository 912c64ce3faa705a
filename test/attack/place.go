package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/yudai-dev/yudai/test/dockerd"
	"github.com/yudai-dev/yudai/test/e2bsim"
	"github.com/yudai-dev/yudai/test/machine"
	"github.com/yudai-dev/yudai/test/primesim"
)

// The drivers beside local that a family can name.
const (
	onDocker = "docker" // a real engine of its own
	onE2B    = "e2b"    // the stubs of the services
	onPrime  = "prime"
)

// place is where the sandboxes of a family run.
type place struct {
	settings map[string]any // the section sandbox
	liar     *liar          // between the program and a service, nil for an engine
	left     func() []string
	stops    []func() error
}

// noPlace says why a driver's place cannot be had on this machine, "" if it can.
func noPlace(driver string) string {
	missing := error(nil)
	switch driver {
	case onDocker:
		missing = dockerd.Missing()
	case onE2B, onPrime:
		missing = machine.Supported()
	}
	if missing != nil {
		return "no sandboxes of " + driver + " here: " + missing.Error()
	}
	return ""
}

// openPlace starts an engine or the stub of a service, below dir.
func openPlace(ctx context.Context, driver, dir string, keys canaries) (*place, error) {
	p := &place{left: func() []string { return nil }}
	err := map[string]func() error{
		onDocker: func() error { return p.docker(ctx, dir) },
		onE2B:    func() error { return p.e2b(ctx, dir, keys["E2B key"]) },
		onPrime:  func() error { return p.prime(ctx, dir, keys["Prime key"]) },
	}[driver]()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the place of driver %s: %w", driver, err), p.stop())
	}
	p.settings["driver"] = driver
	return p, nil
}

func (p *place) docker(ctx context.Context, dir string) error {
	engine, err := dockerd.Start(ctx, false)
	if err != nil {
		return err
	}
	p.stops = append(p.stops, engine.Stop)
	p.settings = map[string]any{onDocker: map[string]any{
		"host": engine.Host, "image": engine.Image, "allow_unlimited": true, "proxy_dir": dir + "/proxies",
	}}
	return nil
}

func (p *place) e2b(ctx context.Context, dir, key string) error {
	s, err := e2bsim.New(e2bsim.Options{Dir: dir, Keys: []string{key}})
	if err != nil {
		return err
	}
	p.stops, p.left = append(p.stops, s.Close), s.Billed
	if err := p.between(ctx, s.URL(), key); err != nil {
		return err
	}
	p.settings = map[string]any{onE2B: map[string]any{"api_url": p.liar.url(), "sandbox_url": s.SandboxURL(), "template": "base"}}
	return nil
}

func (p *place) prime(ctx context.Context, dir, key string) error {
	s, err := primesim.New(primesim.Options{Dir: dir, Keys: []string{key}})
	if err != nil {
		return err
	}
	p.stops, p.left = append(p.stops, s.Close), s.Billed
	if err := p.between(ctx, s.URL(), key); err != nil {
		return err
	}
	p.settings = map[string]any{onPrime: map[string]any{"api_url": p.liar.url(), "image": primesim.DefaultImage}}
	return nil
}

// between puts a liar in front of a service.
func (p *place) between(ctx context.Context, url, key string) (err error) {
	if p.liar, err = newLiar(ctx, url, key); err != nil {
		return err
	}
	p.stops = append(p.stops, p.liar.close)
	return nil
}

func (p *place) stop() (err error) {
	for _, stop := range p.stops {
		err = errors.Join(err, stop())
	}
	return err
}
