package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/store/storetest"
)

func TestChaosWithRestarts(t *testing.T) {
	t.Parallel()
	for seed := uint64(2); seed < 5; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			c := config(t)
			s := open(t, c)
			storetest.Chaos(t, s, seed, 300, func() storetest.Store {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, c)
				return s
			})
		})
	}
}

const childEnv = "YUDAI_TEST_STORE"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		child(path)
		return
	}
	os.Exit(m.Run())
}

// child accepts deliveries from 16 senders and names each on standard output
// once it is acknowledged, until it is killed.
func child(path string) {
	c := bolt.DefaultConfig()
	c.Path = path
	s, err := bolt.Open(c)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	boot := os.Getpid()
	for sender := range 16 {
		go func() {
			for i := 0; ; i++ {
				guid := fmt.Sprintf("guid-%d-%d-%d", boot, sender, i)
				wish := solve.Solve{ID: solve.ID("s" + guid), Repo: solve.Repo{ID: int64(boot)}, Trigger: solve.Trigger{Key: guid}}
				wish.Issue.Number = sender<<32 | i
				_, err := s.Accept(context.Background(), solve.Delivery{GUID: guid, Payload: []byte("{}")}, solve.Wish{Solve: &wish})
				if err != nil {
					fmt.Println("error", err)
					return
				}
				fmt.Println(guid)
			}
		}()
	}
	select {}
}

func TestAcknowledgedDeliveriesSurviveKill(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := config(t)
	acked := map[string]bool{}
	for round := range 5 {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childEnv+"="+c.Path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if n == 150+37*round {
				_ = cmd.Process.Kill() // SIGKILL; what is in the pipe was acknowledged
			}
			if strings.HasPrefix(lines.Text(), "error") {
				t.Fatal(lines.Text())
			}
			acked[lines.Text()] = true
		}
		_ = cmd.Wait()

		s, err := bolt.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		for guid := range acked {
			again, err := s.Accept(t.Context(), solve.Delivery{GUID: guid}, solve.Wish{})
			if err != nil || again {
				t.Fatalf("acknowledged delivery %s is gone: %v", guid, err)
			}
			if _, err := s.Solve(t.Context(), solve.ID("s"+guid)); err != nil {
				t.Fatalf("its solve is gone: %v", err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(acked) < 5*150 {
		t.Errorf("only %d deliveries were acknowledged", len(acked))
	}
}
