package server

import (
	"runtime/debug"
	"strconv"
	"strings"
)

// stamp is the version, the commit and the time of a build that sees no repository, as in an image: three words that
// the linker sets. A commit that ends in -dirty had changes.
var stamp string

// build is what the program knows about its build.
func build() (*debug.BuildInfo, bool) {
	info, ok := debug.ReadBuildInfo()
	if ok {
		info = stamped(info, stamp)
	}
	return info, ok
}

// stamped is a build with the words of a stamp, unless it saw the repository itself.
func stamped(info *debug.BuildInfo, words string) *debug.BuildInfo {
	if f := strings.Fields(words); len(f) == 3 && built(info, "vcs.revision") == "" {
		commit, modified := strings.CutSuffix(f[1], "-dirty")
		info.Main.Version = f[0]
		info.Settings = append(info.Settings, debug.BuildSetting{Key: "vcs.revision", Value: commit},
			debug.BuildSetting{Key: "vcs.time", Value: f[2]}, debug.BuildSetting{Key: "vcs.modified", Value: strconv.FormatBool(modified)})
	}
	return info
}

// Version is the module's version, or "development" and the commit it was built from.
func Version() string {
	info, ok := build()
	if !ok {
		return "unknown"
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	v, commit := info.Main.Version, built(info, "vcs.revision")
	if v == "" || v == "(devel)" {
		v = strings.TrimSpace("development " + commit[:min(12, len(commit))])
	}
	return v
}

// Origin is the commit that the program was built from, its date, and whether files had changed since; "" if
// the program does not know.
func Origin() string {
	info, ok := build()
	if !ok {
		return ""
	}
	return originOf(info)
}

func originOf(info *debug.BuildInfo) string {
	commit := built(info, "vcs.revision")
	if commit == "" {
		return ""
	}
	text := "commit " + commit[:min(12, len(commit))]
	if date, _, ok := strings.Cut(built(info, "vcs.time"), "T"); ok {
		text += " of " + date
	}
	if built(info, "vcs.modified") == "true" {
		text += ", with changes"
	}
	return text
}

// built is what the build noted under a key; "" if it noted nothing.
func built(info *debug.BuildInfo, key string) string {
	for _, kv := range info.Settings {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}
