package api_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// The page works without a network and with a policy that allows nothing but its
// own style sheet.
func TestDocsPageIsSelfContained(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	res, page := get(t, s.url+"/docs")
	policy := res.Header.Get("Content-Security-Policy")
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(page)
	if style == nil {
		t.Fatal("no style sheet")
	}
	sum := sha256.Sum256([]byte(style[1]))
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
		t.Errorf("policy %q does not allow the style sheet (%s)", policy, want)
	}
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") {
		t.Errorf("policy %q", policy)
	}
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids, links := map[string]bool{}, []string{}
	for n := range doc.Descendants() {
		if n.Data == "script" || n.Data == "img" || n.Data == "link" || n.Data == "iframe" {
			t.Errorf("element <%s>", n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				ids[a.Val] = true
			case a.Key == "href":
				links = append(links, a.Val)
			case a.Key == "src", a.Key == "style", strings.HasPrefix(a.Key, "on"):
				t.Errorf("attribute %s=%q", a.Key, a.Val)
			}
		}
	}
	for _, link := range links {
		if id, local := strings.CutPrefix(link, "#"); local && !ids[id] {
			t.Errorf("dead link %s", link)
		} else if !local && link != "/openapi.json" {
			t.Errorf("link to another place: %s", link)
		}
	}
}

// Everything in the description is on the page, each operation with an example.
func TestDocsPageIsComplete(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, page := get(t, s.url+"/docs")
	_, raw := get(t, s.url+"/openapi.json")
	var doc struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(raw), &doc); err != nil {
		t.Fatal(err)
	}
	operations := 0
	for path, methods := range doc.Paths {
		operations += len(methods)
		for method, o := range methods {
			if !strings.Contains(page, `<section id="`+o.OperationID+`">`) || !strings.Contains(page, "<code>"+strings.ToUpper(method)+" "+path+"</code>") {
				t.Errorf("%s %s is missing", method, path)
			}
		}
	}
	if n := strings.Count(page, "curl -sS"); n != operations {
		t.Errorf("%d examples for %d operations", n, operations)
	}
	for name, schema := range doc.Components.Schemas {
		if !strings.Contains(page, `<section id="`+name+`">`) {
			t.Errorf("schema %s is missing", name)
		}
		for field := range schema.Properties {
			if !strings.Contains(page, "<code>"+field+"</code>") {
				t.Errorf("field %s.%s is missing", name, field)
			}
		}
	}
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%s: %d %v", url, res.StatusCode, err)
	}
	return res, string(body)
}
