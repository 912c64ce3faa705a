package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateNotice = flag.Bool("update", false, "rewrite NOTICE")

const noticeHead = `yudai
Copyright 2026 The yudai authors

yudai is under the Apache License 2.0, which the file LICENSE has.

The program yudai is linked with what follows. Each part keeps its own licence; the texts stand below the list.
Parts under the MPL-2.0 are linked unchanged, and their source is where the name of the module says.
This file is written by "go test . -run Notice -update" from what the linker takes.

`

// licences are the kinds that we link, and a text that only they have, the more exact one first.
var licences = []struct{ name, mark string }{
	{"MPL-2.0", "Mozilla Public License"},
	{"Apache-2.0", "Apache License"},
	{"BSD-3-Clause", "specific prior written permission"},
	{"BSD-2-Clause", "Redistribution and use in source and binary forms"},
	{"ISC", "Permission to use, copy, modify"},
	{"MIT", "Permission is hereby granted, free of charge"},
}

// licenceOf names all kinds of licence in a text.
func licenceOf(text string) string {
	var found []string
	text = strings.Join(strings.Fields(text), " ")
	for _, l := range licences {
		if strings.Contains(text, l.mark) && (l.name != "BSD-2-Clause" || !slices.Contains(found, "BSD-3-Clause")) {
			found = append(found, l.name)
		}
	}
	return strings.Join(found, " and ")
}

// linked lists the licence files of everything in the program, on all systems that we release for: the
// paths of files by module, from the folder of each linked package up to its module's root.
func linked(t *testing.T) map[string][]string {
	t.Helper()
	legal := regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(\.(txt|md))?$`)
	files := map[string][]string{"Go, standard library": {filepath.Join(goroot(t), "LICENSE"), filepath.Join(goroot(t), "PATENTS")}}
	for _, system := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"} {
		goos, arch, _ := strings.Cut(system, "/")
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			part := strings.Split(strings.TrimSpace(line), "\t")
			if len(part) != 3 {
				continue
			}
			for dir := part[2]; len(dir) >= len(part[1]); dir = filepath.Dir(dir) {
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					if at := filepath.Join(dir, e.Name()); legal.MatchString(e.Name()) && !slices.Contains(files[part[0]], at) {
						files[part[0]] = append(files[part[0]], at)
					}
				}
			}
			slices.Sort(files[part[0]])
		}
	}
	return files
}

func goroot(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestNotice: NOTICE has the licence of every module that is linked, and each is of a kind that we know.
func TestNotice(t *testing.T) {
	t.Parallel()
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	files, of := linked(t), map[string][]string{} // which modules have a text
	out := noticeHead
	for _, module := range slices.Sorted(maps.Keys(files)) {
		kinds := map[string]bool{}
		for _, at := range files[module] {
			data, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
			kind := licenceOf(text)
			if legal := strings.ToLower(filepath.Base(at)); !strings.HasPrefix(legal, "notice") && !strings.HasPrefix(legal, "patents") {
				if kind == "" {
					t.Errorf("%s: nobody knows this licence; look whether it may be linked, and add it to licences", at)
				}
				kinds[kind] = true
			}
			if kind == "Apache-2.0" && strings.Contains(text, "END OF TERMS AND CONDITIONS") {
				continue // LICENSE has it
			}
			of[text] = append(of[text], module)
		}
		if len(kinds) == 0 {
			t.Errorf("%s has no licence file", module)
		}
		out += fmt.Sprintf("  %s: %s\n", module, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	var chapters []string
	for text, modules := range of {
		chapters = append(chapters, "\n"+strings.Repeat("-", 80)+"\n"+strings.Join(slices.Compact(modules), "\n")+"\n\n"+text+"\n")
	}
	slices.Sort(chapters)
	out += strings.Join(chapters, "")
	if *updateNotice {
		if err := os.WriteFile("NOTICE", []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), out); diff != "" {
		t.Errorf("NOTICE is not what is linked; go test . -run Notice -update (-file +linked):\n%s", diff)
	}
	if !strings.Contains(string(licence), "END OF TERMS AND CONDITIONS") || licenceOf(string(licence)) != "Apache-2.0" {
		t.Error("LICENSE is not the whole text of the Apache License 2.0")
	}
}
