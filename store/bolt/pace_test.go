package bolt_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
)

// TestFewWritersDoNotWaitForEachOther: runs that share a commit now and then do
// not pay the delay for it afterwards, while one of them is busy elsewhere.
func TestFewWritersDoNotWaitForEachOther(t *testing.T) {
	for range 5 { // they do not share a commit every time
		if took := lonely(t, 3); took != 0 {
			t.Errorf("after three writers, one alone waited %s for company", took)
		}
	}
}

// TestManyWritersShareCommits: with many, a commit waits for those who are likely
// to come back.
func TestManyWritersShareCommits(t *testing.T) {
	if took := lonely(t, 32); took == 0 {
		t.Error("thirty-two writers never waited for each other")
	}
}

// lonely is the simulated time that writers wait for each other, up to a last one
// that comes alone: real work passes none of it.
func lonely(t *testing.T, writers int) (took time.Duration) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := bolt.DefaultConfig()
		c.Path, c.BatchDelay = filepath.Join(dir, "yudai.db"), time.Second
		s := open(t, c)
		began := time.Now()
		accept := func(guid string) {
			if _, err := s.Accept(t.Context(), solve.Delivery{GUID: guid, Event: "issues"}, solve.Intent{}); err != nil {
				t.Error(err)
			}
		}
		var group sync.WaitGroup
		for i := range writers {
			group.Go(func() {
				for j := range 20 {
					accept(fmt.Sprintf("guid-%d-%d", i, j))
				}
			})
		}
		group.Wait()
		accept("last")
		took = time.Since(began)
	})
	return took
}

// noise is a payload that no compression makes smaller.
func noise(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // never fails
	return data
}

// stored is how many payloads: enough that the file has to grow for them.
const stored = 80

// TestPayloadsArePacked: a payload comes back as it came, and takes less of the
// file where it can.
func TestPayloadsArePacked(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat(`{"url":"https://api.github.com/repos/octo/project/issues/1"},`, 10_000))
	for name, payload := range map[string][]byte{"empty": nil, "small": []byte(`{"zen":"x"}`), "text": text, "noise": noise(100 << 10)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(t)
			s := open(t, c)
			for i := range stored {
				d := solve.Delivery{GUID: fmt.Sprint("guid-", i), Event: "issues", Action: "labeled", Payload: payload}
				if _, err := s.Accept(t.Context(), d, solve.Intent{}); err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Delivery(t.Context(), "guid-7")
			if err != nil || !bytes.Equal(got.Payload, payload) || got.Action != "labeled" {
				t.Errorf("%d bytes came back of %d: %v", len(got.Payload), len(payload), err)
			}
			st, err := os.Stat(c.Path)
			if err != nil {
				t.Fatal(err)
			}
			if name == "text" && st.Size() > int64(stored*len(payload)/2) {
				t.Errorf("%d payloads of %d bytes take a file of %d", stored, len(payload), st.Size())
			}
		})
	}
}

// TestDeliveryStoredBefore: what an earlier build stored, without compression, is read.
func TestDeliveryStoredBefore(t *testing.T) {
	t.Parallel()
	s := open(t, config(t))
	payload := strings.Repeat("as it came ", 500)
	s.PutDelivery(t, "guid", `{"v":1,"guid":"guid","event":"issues","action":"labeled","received":"2026-11-21T00:00:00Z"}`+"\n"+payload)
	got, err := s.Delivery(t.Context(), "guid")
	if err != nil || string(got.Payload) != payload {
		t.Errorf("%d bytes came back: %v", len(got.Payload), err)
	}
	s.PutDelivery(t, "broken", `{"v":1,"guid":"broken","event":"issues","received":"2026-11-21T00:00:00Z","packed":true}`+"\n"+payload)
	if _, err := s.Delivery(t.Context(), "broken"); err == nil {
		t.Error("a damaged payload was read")
	}
}
