package primesim_test

import (
	"testing"
	"time"

	"github.com/yudai-dev/yudai/sandbox/prime/command"
	"github.com/yudai-dev/yudai/test/primesim"
)

// TestCloseEndsEverything: commands, streams that stall, calls that hang.
func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{Images: []primesim.Image{{Name: primesim.DefaultImage}, {Name: "slow", Build: time.Hour}}})
	in := c.running(nil)
	c.create(dict{"docker_image": "slow"})
	ended := make(chan error, 3)
	hang := c.Inject(primesim.Fault{Kind: primesim.FaultHang, On: primesim.CallList})
	go func() {
		c.ask("GET", "sandbox", nil)
		ended <- nil
	}()
	stall := c.Inject(primesim.Fault{Kind: primesim.FaultStall, On: primesim.CallStart})
	go func() {
		_, err := in.start(t.Context(), shell("sleep 60"), nil)
		ended <- err
	}()
	c.until(func() bool { return hang.Hits() == 1 && stall.Hits() == 1 })
	_, err := in.start(t.Context(), shell("sleep 60"), func(e *command.CommandSessionEvent) {
		if e.GetStart() != nil {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	if err == nil {
		t.Error("a stream of a closed stub ended well")
	}
	<-ended
	<-ended
	if billed := c.Billed(); len(billed) > 0 {
		t.Errorf("billed: %v", billed)
	}
}

func TestLatencyAndTokens(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{})
	in := c.running(nil)
	c.ExpireTokens()
	if status, _ := in.get("download", "/etc/hostname"); status != 401 {
		t.Errorf("with a token that has expired: %d", status)
	}
	c.SetLatency(30 * time.Millisecond)
	began := time.Now()
	c.call(200, "GET", "user/whoami", nil)
	if took := time.Since(began); took < 30*time.Millisecond {
		t.Errorf("a slow call took %v", took)
	}
	if got := c.call(200, "GET", "user/teams", nil); got["total"] != 0.0 {
		t.Errorf("teams: %v", got)
	}
	if n := c.Calls(primesim.CallAccount); n != 2 {
		t.Errorf("%d calls were counted", n)
	}
}
