package main

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// canaries are the secrets of a world, by what they are: each is new in every world.
type canaries map[string]string

// variables are the canaries in the program's environment.
func variables() map[string]string {
	return map[string]string{
		"webhook secret": "GITHUB_APP_WEBHOOK_SECRET", "API token": "YUDAI_API_TOKEN", "model key": "OPENAI_API_KEY",
		"other model key": "ANTHROPIC_API_KEY", "E2B key": "E2B_API_KEY", "Prime key": "PRIME_API_KEY",
		"variable of the host": "CANARY_OF_THE_HOST",
	}
}

func newCanaries() canaries {
	c := canaries{
		"other repository": "canary-" + rand.Text(), "patch of another run": "canary-" + rand.Text(),
	}
	for name := range variables() {
		c[name] = "canary-" + rand.Text()
	}
	return c
}

// addKey adds a line from the middle of a key: no text around it tells where it is.
func (c canaries) addKey(name string, pem []byte) {
	lines := strings.Split(strings.TrimSpace(string(pem)), "\n")
	c[name] = lines[len(lines)/2]
}

func (c canaries) environment() []string {
	var env []string
	for name, variable := range variables() {
		env = append(env, variable+"="+c[name])
	}
	return env
}

// in names the canaries that data holds as they are, in base64, in hex or reversed. Tokens of
// the App are known by their form.
func (c canaries) in(data []byte) []string {
	var names []string
	for name, value := range c {
		for how, form := range forms(value) {
			if bytes.Contains(data, []byte(form)) {
				names = append(names, strings.TrimSpace(name+" "+how))
			}
		}
	}
	if token.Match(data) {
		names = append(names, "installation token")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// forms are the ways to write a secret that are looked for, by name.
func forms(value string) map[string]string {
	all := map[string]string{"": value, "in hex": hex.EncodeToString([]byte(value))}
	all["in capital hex"] = strings.ToUpper(all["in hex"])
	back := []byte(value)
	slices.Reverse(back)
	all["reversed"] = string(back)
	for shift, how := range []string{"in base64", "in base64 ", "in base64  "} { // one or two bytes before it
		plain := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + value))
		all[how] = plain[4 : len(plain)-4]
	}
	return all
}

// commandLines are those of all processes, read again and again, with their environments as
// far as they can be read.
type commandLines struct {
	cancel chan struct{}
	done   sync.WaitGroup
	mu     sync.Mutex
	lines  map[string]bool
}

func watchCommandLines() *commandLines {
	c := &commandLines{cancel: make(chan struct{}), lines: map[string]bool{}}
	c.done.Go(func() {
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-c.cancel:
				return
			case <-tick.C:
				c.look()
			}
		}
	})
	return c
}

func (c *commandLines) look() {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is right
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err != nil || len(line) == 0 {
			continue
		}
		// yudai's own environment has its secrets, and so has bubblewrap when it is only asked what
		// it can do; a sandbox's must not.
		if help := bytes.Contains(line, []byte("\x00--help\x00")); help {
			continue
		}
		if bytes.Contains(line, []byte("yudai-sandbox")) || bytes.Contains(line, []byte("bwrap")) {
			env, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "environ")) // it may have ended
			line = append(line, env...)
		}
		c.mu.Lock()
		c.lines[string(line)] = true
		c.mu.Unlock()
	}
}

func (c *commandLines) stop() {
	select {
	case <-c.cancel:
	default:
		close(c.cancel)
	}
	c.done.Wait()
}

// text is all that was seen.
func (c *commandLines) text() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []byte
	for line := range c.lines {
		all = append(append(all, line...), '\n')
	}
	return all
}
