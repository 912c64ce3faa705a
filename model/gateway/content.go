package gateway

import (
	"bytes"
	"strings"
)

// contents looks through messages for what a provider would fetch or keep: pictures and
// documents by their address, files that were uploaded, stored items, tools that run
// there. Each would be a way out of the sandbox, or from one run to another.
type contents struct {
	data []byte
	i    int
}

// checkContent refuses such content; data is one value of JSON.
func checkContent(key string, data []byte) *rejection {
	c := &contents{data: data}
	if problem := c.value(false); problem != "" {
		return reject(key, "%s", problem)
	}
	return nil
}

// value looks at the value that begins here, and steps behind it. A picture says that
// its address is a picture's.
func (c *contents) value(picture bool) (problem string) {
	c.i = space(c.data, c.i)
	switch c.data[c.i] {
	case '{':
		return c.object(picture)
	case '[':
		for c.i = space(c.data, c.i+1); c.data[c.i] != ']'; {
			if p := c.value(false); problem == "" {
				problem = p
			}
			if c.i = space(c.data, c.i); c.data[c.i] == ',' {
				c.i++
			}
		}
		c.i++
		return problem
	}
	c.i = skip(c.data, c.i)
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
	for c.i = space(c.data, c.i+1); c.data[c.i] != '}'; {
		end := skip(c.data, c.i)
		key := c.data[c.i:end]
		c.i = space(c.data, space(c.data, end)+1)
		if bytes.IndexByte(key, '\\') >= 0 {
			key = []byte(`"` + text(key) + `"`)
		}
		c.member(bytes.ToLower(key), picture, &f)
		if c.i = space(c.data, c.i); c.data[c.i] == ',' {
			c.i = space(c.data, c.i+1)
		}
	}
	c.i++
	return f.problem()
}

// member looks at one value of an object.
func (c *contents) member(key []byte, picture bool, f *facts) {
	at := c.i
	problem := c.value(string(key) == `"image_url"`)
	value := c.data[at:c.i]
	present := value[0] == '"'
	switch string(key) {
	case `"input"`:
		f.insideCall = problem
		return
	case `"type"`:
		kind := text(value)
		f.use = f.use || strings.HasSuffix(kind, "tool_use")
		f.source = f.source || kind == "url"
		f.item = f.item || kind == "item_reference"
		f.tool = f.tool || hosted.MatchString(kind)
	case `"url"`:
		f.url = present
		f.far = f.far || picture && present && !inline(value)
	case `"image_url"`:
		f.far = f.far || present && !inline(value)
	case `"file_url"`:
		f.far = f.far || present
	case `"file_id"`:
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
