package githubsim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/logkey"
)

const docs = "https://docs.github.com/rest"

// call is one API request being answered; the hub's lock is held.
type call struct {
	hub    *Hub
	req    *http.Request
	body   []byte
	args   map[string]string // from the path
	app    *app              // who calls: an app by its JWT,
	token  *token            // or an installation by its token
	raw    string            // the token's text
	person *user             // or somebody by theirs
	repo   *repo
	issue  *issue
}

// me is the user behind an installation token.
func (c *call) me() *user { return c.token.inst.app.bot }

// reply is an answer.
type reply struct {
	status int
	body   any
	header map[string]string
	target string // what was made or changed, for the history
}

func ok(body any) reply { return reply{status: http.StatusOK, body: body} }

func created(target string, body any) reply {
	return reply{status: http.StatusCreated, body: body, target: target}
}

func (r reply) about(format string, args ...any) reply {
	r.target = fmt.Sprintf(format, args...)
	return r
}

func (r reply) with(key, value string) reply {
	header := map[string]string{key: value}
	for k, v := range r.header {
		header[k] = v
	}
	r.header = header
	return r
}

// fail is an error in GitHub's shape.
func fail(status int, message string) reply {
	return reply{status: status, body: obj{
		"message": message, "documentation_url": docs, "status": strconv.Itoa(status),
	}}
}

func notFound() reply { return fail(http.StatusNotFound, "Not Found") }

// invalid is a 422 whose errors are objects: field and code, or a message.
func invalid(errs ...obj) reply {
	return reply{status: http.StatusUnprocessableEntity, body: obj{
		"message": "Validation Failed", "errors": errs, "documentation_url": docs, "status": "422",
	}}
}

func flaw(resource, field, code string) obj {
	return obj{"resource": resource, "field": field, "code": code}
}

func flawText(resource, message string) obj {
	return obj{"resource": resource, "code": "custom", "message": message}
}

func broken(err error) reply { return fail(http.StatusInternalServerError, "emulator: "+err.Error()) }

// decode reads the JSON body into v. An empty body is an empty
// object, and so is null, which ghinstallation sends.
func (c *call) decode(v any) *reply {
	if len(c.body) == 0 || string(bytes.TrimSpace(c.body)) == "null" {
		return nil
	}
	if c.body[0] != '{' {
		if json.Valid(c.body) {
			r := fail(http.StatusBadRequest, "Body should be a JSON object")
			return &r
		}
		r := fail(http.StatusBadRequest, "Problems parsing JSON")
		return &r
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		if !json.Valid(c.body) {
			r := fail(http.StatusBadRequest, "Problems parsing JSON")
			return &r
		}
		r := fail(http.StatusUnprocessableEntity, "Invalid request.\n\n"+err.Error())
		return &r
	}
	return nil
}

func (c *call) number(name string) int64 {
	n, err := strconv.ParseInt(c.args[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (c *call) query(name string) string { return c.req.URL.Query().Get(name) }

// page cuts a list and makes the Link header.
func page[T any](c *call, all []T) ([]T, string) {
	per := atoi(c.query("per_page"), 30)
	if per < 1 {
		per = 30
	}
	per = min(per, 100)
	n := max(atoi(c.query("page"), 1), 1)
	last := max((len(all)+per-1)/per, 1)
	var links []string
	link := func(to int, rel string) {
		q := c.req.URL.Query()
		q.Set("page", strconv.Itoa(to))
		u := url.URL{Path: c.req.URL.Path, RawQuery: q.Encode()}
		links = append(links, fmt.Sprintf(`<%s%s>; rel="%s"`, c.hub.url(), u.String(), rel))
	}
	if n > 1 {
		link(n-1, "prev")
	}
	if n < last {
		link(n+1, "next")
		link(last, "last")
	}
	if n > 1 {
		link(1, "first")
	}
	from := min((n-1)*per, len(all))
	return all[from:min(from+per, len(all))], strings.Join(links, ", ")
}

func atoi(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return otherwise
	}
	return n
}

// list answers a page of all, each shown by show.
func list[T any](c *call, all []T, show func(T) obj) reply {
	some, link := page(c, all)
	out := make([]obj, 0, len(some))
	for _, v := range some {
		out = append(out, show(v))
	}
	r := ok(out)
	if link != "" {
		r = r.with("Link", link)
	}
	return r
}

// visible says whether something made at t shows in lists yet.
func (h *Hub) visible(t time.Time) bool { return h.lag == 0 || !h.now().Before(t.Add(h.lag)) }

// serveAPI answers one REST call.
func (h *Hub) serveAPI(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		h.write(w, r, fail(http.StatusRequestEntityTooLarge, "Payload too big"), nil)
		return
	}
	h.mu.Lock()
	c := &call{hub: h, req: r, body: body}
	out := h.answer(c)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := h.record(c.entry(out)); err != nil {
			out = broken(err)
		}
		h.signal()
	}
	limit := h.budget(c.spender())
	header := limit.header()
	h.mu.Unlock()
	h.opts.Log.Debug().Str(logkey.Event, r.Method+" "+r.URL.Path).Str(logkey.State, http.StatusText(out.status)).Msg("request answered")
	h.write(w, r, out, header)
}

// answer authenticates, counts, routes, checks rights and acts.
func (h *Hub) answer(c *call) reply {
	path := strings.TrimPrefix(c.req.URL.EscapedPath(), h.opts.APIPrefix)
	if to, _ := h.match(c.req.Method, path); to == nil || to.who != byNobody {
		if denied := h.authenticate(c); denied != nil {
			return *denied
		}
	}
	if path != "/rate_limit" {
		if denied := h.spend(c); denied != nil {
			return *denied
		}
	}
	to, args := h.match(c.req.Method, path)
	if to == nil {
		return notFound()
	}
	c.args = args
	if denied := h.admit(c, to); denied != nil {
		return *denied
	}
	if c.req.Method == http.MethodGet && h.fresh[path] {
		delete(h.fresh, path)
		return notFound()
	}
	return to.do(c)
}

// write sends a reply with the headers GitHub sets on each.
func (h *Hub) write(w http.ResponseWriter, r *http.Request, out reply, header http.Header) {
	for k, v := range header {
		w.Header()[k] = v
	}
	for k, v := range out.header {
		w.Header().Set(k, v)
	}
	w.Header().Set("X-GitHub-Request-Id", strings.ToUpper(randomHex(10)))
	w.Header().Set("X-GitHub-Media-Type", "github.v3; format=json")
	w.Header().Set("X-GitHub-Api-Version-Selected", "2022-11-28")
	if out.body == nil {
		w.WriteHeader(out.status)
		return
	}
	if text, isText := out.body.(string); isText {
		w.Header().Set("Content-Type", "application/vnd.github.v3.raw; charset=utf-8")
		w.WriteHeader(out.status)
		_, _ = io.WriteString(w, text) // a client that left needs no answer
		return
	}
	data, err := json.Marshal(out.body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if r.Method == http.MethodGet && out.status == http.StatusOK {
		sum := sha256.Sum256(append([]byte(r.Header.Get("Authorization")), data...))
		tag := `W/"` + hex.EncodeToString(sum[:]) + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(out.status)
	w.Write(data)
}
