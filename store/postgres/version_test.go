package postgres

import (
	"errors"
	"testing"
)

func TestOldServersAreRefused(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]error{90624: errOld, 140012: errOld, 149999: errOld, 150000: nil, 180001: nil} {
		if got := checkVersion(n); !errors.Is(got, want) {
			t.Errorf("version %d: %v, want %v", n, got, want)
		}
	}
}

func TestZeroCharactersAreReplaced(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a\x00b": `"a\ufffdb"`, `a\u0000`: `"a\\u0000"`, "\\\x00": `"\\\ufffd"`} {
		if got, err := encode(in); err != nil || string(got) != want {
			t.Errorf("%q is written as %s, want %s: %v", in, got, want, err)
		}
	}
}
