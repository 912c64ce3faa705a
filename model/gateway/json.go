package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// What follows reads JSON that is known to be valid. What is not changed stays as it was
// sent, byte for byte.

// container is a JSON object or array in its text.
type container struct {
	data          []byte // all of it, as it was sent
	before, after []byte // up to the opening bracket, and from the closing one
	members       []member
	changed       bool
}

// member is one of an object's members or an array's elements. Its text is lead, value, tail.
type member struct {
	key               string // the decoded name, which is in lead; "" in an array
	lead, value, tail []byte
	dropped           bool
}

// Bounds of what is taken apart, far above what agents send: it takes much more room than its text.
const (
	mostMembers  = 1000   // of an object
	mostElements = 10_000 // of an array
)

// newDecoder reads JSON that is known to be valid.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// parseObject takes an object apart. Two members of one name are rejected: servers differ
// in which of them they take.
func parseObject(data []byte) (*container, *clientError) {
	if newDecoder(data).PeekKind() != '{' {
		return nil, reject("", "it must be a JSON object")
	}
	o := parse(data, mostMembers)
	seen := map[string]bool{}
	for _, m := range o.members {
		if seen[m.key] {
			return nil, reject(m.key, "it holds %q twice", short(m.key))
		}
		seen[m.key] = true
	}
	if len(o.members) > mostMembers {
		return nil, reject("", "it has more than %d members", mostMembers)
	}
	return o, nil
}

// parse takes an object or array apart: all of it, or one member more than most.
func parse(data []byte, most int) *container {
	d := newDecoder(data)
	open, _ := d.ReadToken()
	at := d.InputOffset()
	c := &container{data: data, before: data[:at]}
	for k := d.PeekKind(); k != '}' && k != ']' && len(c.members) <= most; k = d.PeekKind() {
		var m member
		if open.Kind() == '{' {
			name, _ := d.ReadValue() // peeked
			m.key = text(name)
		}
		value, err := d.ReadValue()
		if err != nil {
			panic(fmt.Sprintf("read JSON: %v", err)) // it is valid
		}
		end := d.InputOffset()
		begin := end - int64(len(value))
		m.lead, m.value = data[at:begin], data[begin:end]
		if n := len(c.members); n > 0 {
			c.members[n-1].tail, m.lead, _ = bytes.Cut(m.lead, []byte(","))
		}
		c.members = append(c.members, m)
		at = end
	}
	_, _ = d.ReadToken() // the closing bracket
	end := d.InputOffset() - 1
	if n := len(c.members); n > 0 {
		c.members[n-1].tail = data[at:end]
	}
	c.after = data[end:]
	return c
}

// find is a member that is there and not null, nil if there is none.
func (c *container) find(key string) *member {
	if m := c.named(key); m != nil && string(m.value) != "null" {
		return m
	}
	return nil
}

// named is a member that is there, nil if there is none.
func (c *container) named(key string) *member {
	for i := range c.members {
		if c.members[i].key == key && !c.members[i].dropped {
			return &c.members[i]
		}
	}
	return nil
}

// text is the text of a member that is a string, "" for any other.
func (c *container) text(key string) string {
	if m := c.named(key); m != nil {
		return text(m.value)
	}
	return ""
}

// set gives a member a value, and adds it where there is none.
func (c *container) set(key string, value any) {
	data, ok := value.([]byte)
	if !ok {
		data = encoded(value)
	}
	m := c.named(key)
	if m == nil {
		c.members = append(c.members, member{key: key, lead: []byte(`"` + key + `":`)})
		m = &c.members[len(c.members)-1]
	}
	c.replace(m, data)
}

// replace gives a member a value.
func (c *container) replace(m *member, value []byte) {
	if !bytes.Equal(m.value, value) {
		m.value, c.changed = value, true
	}
}

// drop removes a member.
func (c *container) drop(key string) {
	if m := c.named(key); m != nil {
		m.dropped, c.changed = true, true
	}
}

// rename gives a member another name. Around the name are spaces and the colon only.
func (c *container) rename(m *member, key string) {
	first, last := bytes.IndexByte(m.lead, '"'), bytes.LastIndexByte(m.lead, '"')
	m.key, m.lead, c.changed = key, slices.Concat(m.lead[:first+1], []byte(key), m.lead[last:]), true
}

// bytes is the text as it is now.
func (c *container) bytes() []byte {
	if !c.changed {
		return c.data
	}
	out := bytes.NewBuffer(make([]byte, 0, len(c.data)+256))
	out.Write(c.before)
	comma := ""
	for _, m := range c.members {
		if m.dropped {
			continue
		}
		out.WriteString(comma)
		comma = ","
		for _, part := range [][]byte{m.lead, m.value, m.tail} {
			out.Write(part)
		}
	}
	out.Write(c.after)
	return out.Bytes()
}

// text is a JSON string's, "" for anything else.
func text(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inner := raw[1 : len(raw)-1]; !bytes.ContainsRune(inner, '\\') {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// isEmpty says that a value is nothing: null, false, "", [] or {}.
func isEmpty(raw []byte) bool {
	switch string(raw) {
	case "null", "false", `""`, "[]", "{}":
		return true
	}
	return (raw[0] == '[' || raw[0] == '{') && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}
