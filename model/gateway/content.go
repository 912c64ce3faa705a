package gateway

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// contents looks through messages for what a provider would fetch or keep: pictures and
// documents by their address, files that were uploaded, stored items, tools that run
// there. Each would be a way out of the sandbox, or from one run to another.
type contents struct{ d *jsontext.Decoder }

// checkContent rejects such content; data is one value of JSON.
func checkContent(key string, data []byte) *clientError {
	c := &contents{newDecoder(data)}
	if problem := c.value(false); problem != "" {
		return reject(key, "%s", problem)
	}
	return nil
}

// value checks the next value. A picture says that its address is a picture's.
func (c *contents) value(picture bool) (problem string) {
	switch c.d.PeekKind() {
	case '{':
		return c.object(picture)
	case '[':
		_, _ = c.d.ReadToken() // peeked
		for c.d.PeekKind() != ']' {
			if p := c.value(false); problem == "" {
				problem = p
			}
		}
		_, _ = c.d.ReadToken() // peeked
		return problem
	}
	_ = c.d.SkipValue() // it is valid
	return ""
}

// facts are what an object says that matters.
type facts struct {
	use                bool // a call of a tool: what the model gave it is no content
	source, url, item  bool
	file, far, tool    bool
	inside, insideCall string // problems below
}

func (c *contents) object(picture bool) string {
	var f facts
	_, _ = c.d.ReadToken() // peeked
	for c.d.PeekKind() == '"' {
		name, _ := c.d.ReadValue() // peeked
		c.member(strings.ToLower(text(name)), picture, &f)
	}
	_, _ = c.d.ReadToken() // the closing brace
	return f.problem()
}

// member looks at one value of an object.
func (c *contents) member(key string, picture bool, f *facts) {
	var value []byte // of a string
	problem := ""
	present := c.d.PeekKind() == '"'
	if present {
		value, _ = c.d.ReadValue() // peeked
	} else {
		problem = c.value(key == "image_url")
	}
	switch key {
	case "input":
		f.insideCall = problem
		return
	case "type":
		kind := text(value)
		f.use = f.use || strings.HasSuffix(kind, "tool_use")
		f.source = f.source || kind == "url"
		f.item = f.item || kind == "item_reference"
		f.tool = f.tool || hosted.MatchString(kind)
	case "url":
		f.url = present
		f.far = f.far || picture && present && !inline(value)
	case "image_url":
		f.far = f.far || present && !inline(value)
	case "file_url":
		f.far = f.far || present
	case "file_id":
		f.file = f.file || present
	}
	if f.inside == "" {
		f.inside = problem
	}
}

// inline says that an address holds the data itself.
func inline(raw []byte) bool {
	if bytes.HasPrefix(raw, []byte(`"data:`)) {
		return true
	}
	return strings.HasPrefix(text(raw), "data:")
}

func (f facts) problem() string {
	switch {
	case f.far, f.source && f.url:
		return "it names a picture or document by its address, which the provider would fetch; put the data into the request"
	case f.file:
		return "it names a file that lies at the provider; put the data into the request"
	case f.item:
		return "it refers to an item that is stored at the provider; send the item itself"
	case f.tool:
		return "its messages bring a tool that runs at the provider"
	case f.inside != "":
		return f.inside
	case f.use:
		return ""
	}
	return f.insideCall
}
