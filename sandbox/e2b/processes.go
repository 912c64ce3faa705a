package e2b

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// process is one that runs.
type process struct {
	Pid    int     `json:"pid"`
	Config command `json:"config"`
}

// processes lists what the daemon started and what has not ended.
func (d *daemon) processes(ctx context.Context) ([]process, error) {
	var all struct {
		Processes []process `json:"processes"`
	}
	err := d.unary(ctx, "/process.Process/List", struct{}{}, &all)
	return all.Processes, err
}

// quiet ends the processes whose stream broke before their end was seen: views
// that nobody looks at. One that is captured with its stream comes back in every
// copy, and may silence others there.
func (d *daemon) quiet(ctx context.Context) error {
	var pids []int
	d.unseen.Range(func(pid, _ any) bool {
		pids = append(pids, pid.(int))
		return true
	})
	if len(pids) == 0 {
		return nil
	}
	all, err := d.processes(ctx)
	if err != nil {
		return err
	}
	for _, p := range all {
		if slices.Contains(pids, p.Pid) {
			err = errors.Join(err, d.kill(ctx, p.Pid))
		}
	}
	return err
}

// kill ends a process by its pid, and not its children. One that is gone is no error.
func (d *daemon) kill(ctx context.Context, pid int) error {
	body := map[string]any{"process": map[string]int{"pid": pid}, "signal": "SIGNAL_SIGKILL"}
	err := d.unary(ctx, "/process.Process/SendSignal", body, nil)
	if status(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// unary makes a call with one message each way.
func (d *daemon) unary(ctx context.Context, path string, in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("call %s: encode: %w", path, err)
	}
	req, err := d.request(ctx, http.MethodPost, path, "", bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Connect-Protocol-Version", "1")
	resp, err := d.http.Do(req)
	if err != nil {
		return fmt.Errorf("call %s: %w", path, bare(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return readProblem("call "+path, resp, d.secret())
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxBody)).Decode(out); err != nil {
		return fmt.Errorf("call %s: %w", path, err)
	}
	return nil
}
