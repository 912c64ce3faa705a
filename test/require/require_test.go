package require_test

import (
	"fmt"
	"testing"

	"github.com/yudai-dev/yudai/test/require"
)

// TestPartsAreTheWhole: each long test is in one part of three, and no part is empty.
func TestPartsAreTheWhole(t *testing.T) {
	const parts = 3
	var sizes [parts]int
	for i := range 60 {
		before := sizes
		for part := range parts {
			in, err := require.InPart(fmt.Sprintf("%d/%d", part, parts), fmt.Sprintf("TestLong%d", i))
			if err != nil {
				t.Fatal(err)
			}
			if in {
				sizes[part]++
			}
		}
		if sizes[0]+sizes[1]+sizes[2] != i+1 {
			t.Errorf("from %v to %v: a test is in no part or in two", before, sizes)
		}
	}
	for part, n := range sizes {
		if n == 0 {
			t.Errorf("part %d is empty", part)
		}
	}
}

// TestPartThatIsNone: a part that does not exist would skip every long test in silence.
func TestPartThatIsNone(t *testing.T) {
	for _, value := range []string{"3/3", "1/0", "/", "a/3", "2"} {
		if _, err := require.InPart(value, "TestLong"); err == nil {
			t.Errorf("%s is a part", value)
		}
	}
}
