package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/test/postgres"
	"github.com/yudai-dev/yudai/test/require"
)

// childEnv makes this binary a process that starts a server and never stops it.
const childEnv = "YUDAI_TEST_POSTGRES_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	s, err := postgres.Start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.DSN("public"))
	_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed
}

// TestNothingIsLeftOfAKilledProcess: a test that runs out of time, or is killed, stops no server by itself.
func TestNothingIsLeftOfAKilledProcess(t *testing.T) {
	t.Parallel()
	require.Need(t, "postgres", postgres.Missing())
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe)
	c.Env, c.Stderr = append(os.Environ(), childEnv+"=1"), os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	host, _, _ := strings.Cut(strings.TrimPrefix(line, "host="), " ")
	text, err := os.ReadFile(filepath.Join(host, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for until := time.Now().Add(time.Minute); ; <-look.C {
		_, err := os.Stat(host)
		if errors.Is(err, os.ErrNotExist) && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		if time.Now().After(until) {
			_ = syscall.Kill(pid, syscall.SIGQUIT)
			_ = os.RemoveAll(host)
			t.Fatal("the server runs on")
		}
	}
}
