package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/store/storetest"
)

func TestChaosWithRestarts(t *testing.T) {
	t.Parallel()
	for seed := uint64(2); seed < 5; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			c, clock := config(t), &storetest.Clock{}
			c.Now = clock.Now
			s := open(t, c)
			storetest.Chaos(t, s, clock, seed, 300, func() storetest.Store {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, c)
				return s
			})
		})
	}
}

// The test binary is also the child process of two tests: the variable holds what it does and where.
const childEnv = "YUDAI_TEST_STORE"

func TestMain(m *testing.M) {
	if err := storetest.SetSequences(400); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	what, path, _ := strings.Cut(os.Getenv(childEnv), ":")
	switch what {
	case "accept":
		child(path)
	case "fill":
		fill(path)
	default:
		os.Exit(m.Run())
	}
}

// fill accepts deliveries until no file may grow any more, then with room again,
// and names those that were acknowledged.
func fill(path string) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := unix.Rlimit{Cur: 20 << 20, Max: unix.RLIM_INFINITY}
	c := bolt.DefaultConfig()
	c.Path = path
	s, err := bolt.Open(c)
	if err == nil {
		err = unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
	}
	if err != nil {
		fmt.Println("error", err)
		return
	}
	failed := 0
	for i := 0; failed < 3 && i < 1000; i++ {
		guid := fmt.Sprint("full", i)
		_, err := s.Accept(context.Background(), solve.Delivery{GUID: guid, Payload: noise(128 << 10)}, solve.Intent{})
		if err != nil {
			failed++
			fmt.Println("refused", guid)
			continue
		}
		fmt.Println(guid)
	}
	limit.Cur = unix.RLIM_INFINITY
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println("error", err)
	}
	if _, err := s.Accept(context.Background(), solve.Delivery{GUID: "after"}, solve.Intent{}); err != nil {
		fmt.Println("error", err)
	}
	fmt.Println("after")
}

func TestFullDiskLosesNothing(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := config(t)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"=fill:"+c.Path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	}
	s := open(t, c)
	kept, refused := 0, 0
	for _, line := range strings.Fields(strings.ReplaceAll(string(out), "refused ", "refused:")) {
		guid, no := strings.CutPrefix(line, "refused:")
		_, err := s.Delivery(t.Context(), guid)
		switch {
		case no && !errors.Is(err, solve.ErrNotFound):
			t.Errorf("refused delivery %s: %v", guid, err)
		case no:
			refused++
		case err != nil:
			t.Errorf("acknowledged delivery %s: %v", guid, err)
		default:
			kept++
		}
	}
	if kept < 10 || refused != 3 {
		t.Errorf("%d kept, %d refused; the child said:\n%s", kept, refused, out)
	}
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
				_, err := s.Accept(context.Background(), solve.Delivery{GUID: guid, Payload: []byte("{}")}, solve.Intent{Solve: &wish})
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
		cmd.Env = append(os.Environ(), childEnv+"=accept:"+c.Path)
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
			again, err := s.Accept(t.Context(), solve.Delivery{GUID: guid}, solve.Intent{})
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
