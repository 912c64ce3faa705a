package primesim_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/test/primesim"
)

func TestStatusesAdvance(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{
		Images:    []primesim.Image{{Name: "old"}, {Name: "new", Build: 10 * time.Minute}},
		Provision: time.Minute, Reach: time.Minute,
	})
	made := c.create(dict{"docker_image": "new"})
	id := made["id"].(string)
	if made["status"] != "PENDING" || made["pendingImageBuildId"] == nil {
		t.Errorf("the first sandbox of a new image is %v", made)
	}
	c.Advance(5 * time.Minute)
	second := c.create(dict{"docker_image": "new"})
	if second["pendingImageBuildId"] != made["pendingImageBuildId"] {
		t.Errorf("another build for the same image: %v", second)
	}
	if got := c.create(dict{"docker_image": "old"}); got["pendingImageBuildId"] != nil {
		t.Errorf("a known image is built: %v", got)
	}
	c.Advance(6 * time.Minute)
	c.await(id, "PROVISIONING")
	c.Advance(2 * time.Minute)
	c.await(id, "RUNNING")
	if got := c.call(http.StatusOK, "GET", "sandbox/"+id, nil); got["startedAt"] == nil || got["pendingImageBuildId"] != nil {
		t.Errorf("a running sandbox is %v", got)
	}
	in := &inside{c: c, id: id}
	in.auth()
	if status, body := in.get("read-file", "/etc/hostname"); status != http.StatusBadGateway || !contains(body, "sandbox_not_found") {
		t.Errorf("before the gateway knows it: %d %s", status, body)
	}
	c.Advance(2 * time.Minute)
	if r := in.run("echo up"); r.out != "up\n" {
		t.Errorf("got %+v", r)
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{})
	idle := c.running(dict{"timeout_minutes": 60, "idle_timeout_minutes": 10})
	short, forever := c.running(dict{"timeout_minutes": 20}), c.running(dict{"timeout_minutes": -1})
	c.Advance(9 * time.Minute)
	idle.run("true") // is a use
	c.Advance(9 * time.Minute)
	c.await(idle.id, "RUNNING")
	c.Advance(2 * time.Minute)
	c.await(short.id, "TIMEOUT")
	if got := c.call(http.StatusOK, "GET", "sandbox/"+short.id+"/error-context", nil); got["errorType"] != "TIMEOUT" || got["status"] != "TIMEOUT" {
		t.Errorf("the context of its end is %v", got)
	}
	c.until(func() bool { status, _ := c.Status(idle.id); return status == "TERMINATED" })
	c.Advance(1000 * time.Hour)
	if billed := c.Billed(); !slices.Equal(billed, []string{forever.id}) {
		t.Errorf("billed: %v", billed)
	}
}

func TestImageThatLacksGit(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{Images: []primesim.Image{{Name: "bare", Hide: []string{"git"}}}})
	if r := c.running(dict{"docker_image": "bare"}).run("git --version"); r.code != 127 {
		t.Errorf("git runs: %+v", r)
	}
}

func TestRefusedCreates(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{Concurrent: 1, Full: http.StatusPaymentRequired, MaxCores: 4, MaxMemory: 8, MaxDisk: 20, Team: "cteam"})
	for _, r := range []struct {
		status int
		more   dict
	}{
		{422, dict{"name": ""}},
		{422, dict{"docker_image": nil}},
		{410, dict{"vm": false}},
		{422, dict{"cpu_cores": 5}},
		{422, dict{"memory_gb": 9}},
		{422, dict{"disk_size_gb": 21}},
		{422, dict{"timeout_minutes": 1441}},
		{422, dict{"idle_timeout_minutes": 61}},
		{422, dict{"network_allowlist": []string{}, "network_denylist": []string{}}},
		{422, dict{"network_allowlist": []string{"https://example.org"}}},
		{422, dict{"network_allowlist": []string{"::1"}}},
		{422, dict{"image": "a slip"}},
		{403, dict{"team_id": "cother"}},
		{404, dict{"checkpoint_id": "cnone", "docker_image": nil}},
		{422, dict{"checkpoint_id": "cnone"}},
	} {
		if status, answer := c.ask("POST", "sandbox", request(r.more)); status != r.status {
			t.Errorf("%v is %d, not %d: %v", r.more, status, r.status, answer)
		}
	}
	id := c.create(dict{"team_id": "cteam", "idempotency_key": "again"})["id"]
	if same := c.create(dict{"team_id": "cteam", "idempotency_key": "again"})["id"]; same != id {
		t.Errorf("one key is two sandboxes: %v, %v", id, same)
	}
	if got := c.call(http.StatusPaymentRequired, "POST", "sandbox", request(nil)); !contains(got["detail"].(string), "concurrent") {
		t.Errorf("full: %v", got)
	}
	c.SetKey(c.key, false)
	c.call(http.StatusUnauthorized, "GET", "sandbox", nil)
}

// TestEgress: a policy is in force when it is applied, and every command is noted
// with the one in force.
func TestEgress(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{Apply: time.Minute})
	in := c.running(dict{"network_allowlist": []string{"example.org"}})
	c.Advance(2 * time.Minute)
	in.run("echo first")
	path := "sandbox/" + in.id + "/egress-policy"
	if got := c.call(200, "PUT", path, dict{"allowlist": []string{}, "denylist": nil}); got["applied"] != false || got["generation"] != 2.0 || got["applied_generation"] != 1.0 {
		t.Errorf("the answer to a change is %v", got)
	}
	in.run("echo second")
	c.SetEgressHeld(true)
	c.Advance(time.Hour / 2)
	if got := c.call(200, "GET", path, nil); got["applied"] != false {
		t.Errorf("applied although it is held: %v", got)
	}
	c.SetEgressHeld(false)
	c.until(func() bool { return c.call(200, "GET", path, nil)["applied"] == true })
	in.auth() // half an hour later
	in.run("echo third")
	starts := c.Starts()
	if len(starts) != 3 {
		t.Fatalf("starts: %+v", starts)
	}
	for i, want := range []struct {
		allow   int
		applied bool
	}{{1, true}, {1, false}, {0, true}} {
		if s := starts[i]; s.Allow == nil || len(s.Allow) != want.allow || s.Applied != want.applied || s.Sandbox != in.id {
			t.Errorf("start %d: %+v", i, s)
		}
	}
	c.call(422, "PUT", path, dict{})
	c.call(200, "DELETE", "sandbox/"+in.id, nil)
	c.call(409, "PUT", path, dict{"allowlist": []string{}})
}

func TestCheckpoints(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{Durable: time.Minute})
	in := c.running(nil)
	in.run("mkdir /workspace; echo base >/workspace/f; chown 1000 /workspace/f")
	taken := c.call(200, "POST", "sandbox/"+in.id+"/checkpoints", nil)
	id := taken["id"].(string)
	state := func(want string) {
		t.Helper()
		c.until(func() bool { return c.call(200, "GET", "sandbox/checkpoints/"+id, nil)["state"] == want })
	}
	state("FROZEN")
	c.call(409, "POST", "sandbox", request(dict{"docker_image": nil, "checkpoint_id": id}))
	c.call(409, "DELETE", "sandbox/checkpoints/"+id, nil)
	in.run("echo later >/workspace/f")
	c.Advance(2 * time.Minute)
	state("DURABLE")
	c.call(200, "DELETE", "sandbox/"+in.id, nil)
	copies := []*inside{c.running(dict{"docker_image": nil, "checkpoint_id": id}), c.running(dict{"docker_image": nil, "checkpoint_id": id})}
	copies[0].run("echo mine >>/workspace/f")
	if r := copies[1].run("cat /workspace/f; stat -c %u /workspace/f"); r.out != "base\n1000\n" {
		t.Errorf("the copy has %q", r.out)
	}
	if stored := c.Stored(); !slices.Equal(stored, []string{id}) {
		t.Errorf("stored: %v", stored)
	}
	c.call(200, "DELETE", "sandbox/checkpoints/"+id, nil)
	c.call(404, "GET", "sandbox/checkpoints/"+id, nil)
	c.Inject(primesim.Fault{Kind: primesim.FaultFail, On: primesim.CallCheckpoint, Reason: "no space"})
	failed := c.call(200, "POST", "sandbox/"+copies[0].id+"/checkpoints", nil)
	if failed["state"] != "FAILED" || failed["error"] != "no space" || len(c.Stored()) > 0 {
		t.Errorf("failed: %v, stored: %v", failed, c.Stored())
	}
}

func TestWhatIsNotOffered(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{NoBatch: true, NoCheckpoints: true})
	in := c.running(nil)
	for _, path := range []string{"sandbox/status:batchGet", "sandbox/background-jobs/status:batchGet", "sandbox/checkpoints:batchGet", "sandbox/" + in.id + "/checkpoints"} {
		if status, _ := c.ask("POST", path, dict{}); status != http.StatusNotFound {
			t.Errorf("%s is %d", path, status)
		}
	}
}
