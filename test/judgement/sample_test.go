package main

import (
	"context"
	"os"
	"os/signal"
	"path"
	"slices"
	"syscall"
	"testing"

	"github.com/yudai-dev/yudai/cmd"
	"github.com/yudai-dev/yudai/sandbox/local"
	"github.com/yudai-dev/yudai/test/require"
)

// TestMain makes the binary of these tests the program that they try: "yudai solve ...".
func TestMain(m *testing.M) {
	local.Stage()
	if len(os.Args) > 1 && os.Args[1] == "solve" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := cmd.Execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// TestSample tries some of the repositories, those that need no package registry: an honest candidate wins,
// all honest ones pass, and no cheat is believed. `make judgement` tries all.
func TestSample(t *testing.T) {
	t.Parallel()
	require.Daily(t)
	require.Programs(t, "bubblewrap", "bwrap")
	require.Programs(t, "npm", "node")
	daily := []string{"hidden/js-lru", "cheats/js-tests"}
	long := []string{"hidden/go-slug", "hidden/rs-words"}
	all, err := load(definitions)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		in := func(pattern string) bool {
			ok, err := path.Match(pattern, r.group+"/"+r.name)
			return ok && err == nil
		}
		if !slices.ContainsFunc(daily, in) && !(require.AtLong() && slices.ContainsFunc(long, in)) {
			continue
		}
		t.Run(r.group+"/"+r.name, func(t *testing.T) {
			if r.Language == "Rust" {
				require.Programs(t, "cargo", "cargo")
			}
			got, err := r.try(t.Context(), program, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range got.problems {
				t.Error(p)
			}
		})
	}
}

func TestSampleMustNotSkip(t *testing.T) {
	t.Parallel()
	require.SkipFails(t, "TestSample")
}
