package command_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent"
	"github.com/yudai-dev/yudai/agent/command"
)

// What a program writes of itself is taken after every step, while it goes on: each step
// here waits until the transcript has the one before.
func TestMessagesAreTakenAfterEveryStep(t *testing.T) {
	t.Parallel()
	w := setup(t)
	p := noting()
	waits := script(`for i in 1 2 3; do call; echo '{"role":"assistant","content":"m'$i'"}' >>/workspace/agent/notes; echo "step $i"; until [ -e /workspace/agent/go$i ]; do sleep 0.02; done; done`)
	p.Prepare = waits.Prepare
	var group sync.WaitGroup
	var res agent.Result
	group.Go(func() { res = command.NewsOnly(hasty(p)).Run(t.Context(), w.job()) })
	for i := range 3 {
		w.awaitMessage(fmt.Sprintf("m%d", i+1))
		if err := (agent.File{Path: fmt.Sprintf("/workspace/agent/go%d", i+1)}).Put(t.Context(), w.machine); err != nil {
			t.Fatal(err)
		}
	}
	group.Wait()
	w.want(res, agent.ExitSubmitted)
	if got := w.roles(); got != "start m1 m2 m3 exit" {
		t.Error(got)
	}
}

// awaitMessage waits until the transcript has a message.
func (w *world) awaitMessage(content string) {
	w.t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(20 * time.Second)
	for !strings.Contains(string(w.Lines()), `"`+content+`"`) {
		select {
		case <-ticker.C:
		case <-deadline:
			w.t.Fatalf("the transcript never had %q", content)
		}
	}
}
