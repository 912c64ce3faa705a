package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// lie is how a service answers falsely: instead of the true answer, or by a change of it.
type lie struct {
	On     string            `yaml:"on"` // a pattern of "METHOD PATH"
	Status int               `yaml:"status"`
	Header map[string]string `yaml:"header"`
	// Body has KEY for the key that was sent and PADDING for 40 MB.
	Body string `yaml:"body"`
	Hang bool   `yaml:"hang"`
	// Change is a pattern in the true answer, and To what stands in its place.
	Change string `yaml:"change"`
	To     string `yaml:"to"`
}

// liar stands between the program and the stub of a service.
type liar struct {
	key    string
	server *http.Server
	at     string

	mu    sync.Mutex
	lies  []lie
	told  int      // answers that were lies
	asked []string // requests, since the lies began
}

func newLiar(ctx context.Context, target, key string) (*liar, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("read the address of a stub: %w", err)
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	v := &liar{key: key, at: "http://" + l.Addr().String()}
	honest := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = to.Host },
		ModifyResponse: v.change, FlushInterval: -1,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	v.server = &http.Server{Handler: v.handler(honest), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = v.server.Serve(l) }() // it ends when it is closed
	return v, nil
}

func (v *liar) url() string  { return v.at }
func (v *liar) close() error { return v.server.Close() }

// tell begins with other lies; none is the truth. It returns what was asked since the last call, and how many lies were told.
func (v *liar) tell(lies []lie) (asked []string, told int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	asked, told = v.asked, v.told
	v.lies, v.asked, v.told = lies, nil, 0
	return asked, told
}

// on is the lie about a request, nil for the truth.
func (v *liar) on(r *http.Request) *lie {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.lies {
		if regexp.MustCompile(l.On).MatchString(r.Method + " " + r.URL.Path) {
			return &l
		}
	}
	return nil
}

func (v *liar) handler(honest http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		l := v.on(r)
		v.mu.Lock()
		v.asked = append(v.asked, r.Method+" "+r.RequestURI)
		if l != nil && l.Change == "" {
			v.told++
		}
		v.mu.Unlock()
		switch {
		case l == nil || l.Change != "":
			honest.ServeHTTP(w, r)
		case l.Hang:
			<-r.Context().Done()
		default:
			for name, value := range l.Header {
				w.Header().Set(name, value)
			}
			w.WriteHeader(max(l.Status, http.StatusOK))
			text := strings.NewReplacer("KEY", v.key, "PADDING", strings.Repeat("x", 40<<20)).Replace(l.Body)
			_, _ = io.WriteString(w, text) // the client may be gone
		}
	}
}

// change puts the lie into a true answer.
func (v *liar) change(r *http.Response) error {
	l := v.on(r.Request)
	if l == nil || l.Change == "" {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	_ = r.Body.Close() // it was read
	changed := regexp.MustCompile(l.Change).ReplaceAll(body, []byte(l.To))
	v.mu.Lock()
	if !bytes.Equal(changed, body) {
		v.told++
	}
	v.mu.Unlock()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
	r.Header.Set("Content-Length", strconv.Itoa(len(changed)))
	return nil
}
