package cmd_test

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/yudai-dev/yudai/cmd"
	"github.com/yudai-dev/yudai/server"
	"github.com/yudai-dev/yudai/test/require"
)

func TestMain(m *testing.M) {
	server.Stage() // this binary is also the sandboxes' stage
	testscript.Main(m, map[string]func(){"yudai": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := cmd.Execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}})
}

// TestScripts types the commands as a person would; the files say what comes back.
func TestScripts(t *testing.T) {
	t.Parallel()
	bot := &served{T: t}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			sample, err := filepath.Abs("sample")
			if err != nil {
				return err
			}
			e.Setenv("SAMPLE", sample)
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("XDG_STATE_HOME", e.WorkDir+"/state")
			e.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
			e.Setenv("PATH", os.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"resign": resign, "served": bot.script, "ask": bot.ask, "away": bot.away, "tool": callTool, "started": started,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "bwrap":
				if testing.Short() {
					return false, nil
				}
				_, err := exec.LookPath("bwrap")
				return err == nil || require.Needs("bubblewrap"), nil
			default:
				return false, nil
			}
		},
	})
}
