package server_test

import (
	"testing"

	"github.com/yudai-dev/yudai/server"
)

func TestOriginNamesCommitAndDate(t *testing.T) {
	t.Parallel()
	const commit, at = "0123456789abcdef0123456789abcdef01234567", "2026-11-23T10:00:00Z"
	for want, settings := range map[string]map[string]string{
		"":                                  {"vcs.time": at},
		"commit 0123456789ab of 2026-11-23": {"vcs.revision": commit, "vcs.time": at, "vcs.modified": "false"},
		"commit 0123456789ab of 2026-11-23, with changes": {"vcs.revision": commit, "vcs.time": at, "vcs.modified": "true"},
		"commit 0123456789ab":                             {"vcs.revision": commit},
	} {
		if _, got := server.BuildOf(settings, ""); got != want {
			t.Errorf("%v: %q, want %q", settings, got, want)
		}
	}
}

func TestStampSpeaksWhereNoRepositoryDoes(t *testing.T) {
	t.Parallel()
	const stamp = "v1.2.0 0123456789abcdef 2026-11-23T10:00:00Z"
	for _, c := range []struct {
		settings               map[string]string
		stamp, version, origin string
	}{
		{nil, stamp, "v1.2.0", "commit 0123456789ab of 2026-11-23"},
		{nil, "(devel) 0123456789abcdef 2026-11-23T10:00:00Z", "development 0123456789ab", "commit 0123456789ab of 2026-11-23"},
		{nil, "(devel) 0123-dirty 2026-11-23T10:00:00Z", "development 0123", "commit 0123 of 2026-11-23, with changes"},
		{nil, "", "development", ""},
		{nil, "v1.2.0", "development", ""},
		{map[string]string{"vcs.revision": "fedcba9876543210"}, stamp, "development fedcba987654", "commit fedcba987654"},
	} {
		if version, origin := server.BuildOf(c.settings, c.stamp); version != c.version || origin != c.origin {
			t.Errorf("%v, %q: %q and %q, want %q and %q", c.settings, c.stamp, version, origin, c.version, c.origin)
		}
	}
}
