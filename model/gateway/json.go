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

// object is a JSON object in its text.
type object struct {
	before, after []byte // what stands around the braces
	members       []member
	changed       bool
}

// member is one of an object's. Its text is lead, name, between, value, trail.
type member struct {
	key                              string // name, decoded
	lead, name, between, value, tail []byte
	dropped                          bool
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

// next is the next value, which must be there, as a part of data, and the text between it
// and the offset at.
func next(d *jsontext.Decoder, data []byte, at int64) (value, gap []byte) {
	value, err := d.ReadValue()
	if err != nil {
		panic(fmt.Sprintf("read JSON: %v", err)) // it is valid
	}
	end := d.InputOffset()
	begin := end - int64(len(value))
	return data[begin:end], data[at:begin]
}

// parseObject takes an object apart. Two members of one name are rejected: servers differ
// in which of them they take.
func parseObject(data []byte) (*object, *rejection) {
	d := newDecoder(data)
	if d.PeekKind() != '{' {
		return nil, reject("", "it must be a JSON object")
	}
	_, _ = d.ReadToken() // peeked
	at := d.InputOffset()
	o := &object{before: data[:at-1]}
	seen := map[string]bool{}
	for d.PeekKind() == '"' {
		var m member
		var gap []byte
		m.name, gap = next(d, data, at)
		m.lead = gap
		if n := len(o.members); n > 0 {
			o.members[n-1].tail, m.lead, _ = bytes.Cut(gap, []byte(","))
		}
		m.key = text(m.name)
		m.value, m.between = next(d, data, d.InputOffset())
		at = d.InputOffset()
		switch {
		case seen[m.key]:
			return nil, reject(m.key, "it holds %q twice", short(m.key))
		case len(o.members) == mostMembers:
			return nil, reject("", "it has more than %d members", mostMembers)
		}
		seen[m.key] = true
		o.members = append(o.members, m)
	}
	_, _ = d.ReadToken() // the closing brace
	end := d.InputOffset()
	if n := len(o.members); n > 0 {
		o.members[n-1].tail = data[at : end-1]
	}
	o.after = data[end:]
	return o, nil
}

// find is a member that is there, nil if there is none.
func (o *object) find(key string) *member {
	for i := range o.members {
		if o.members[i].key == key && !o.members[i].dropped {
			return &o.members[i]
		}
	}
	return nil
}

// set gives a member a value, and adds it where there is none.
func (o *object) set(key string, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("no JSON for %s: %v", key, err)) // only our own plain values come here
	}
	o.setRaw(key, data)
}

func (o *object) setRaw(key string, value []byte) {
	m := o.find(key)
	if m == nil {
		o.members = append(o.members, member{key: key, name: []byte(`"` + key + `"`), between: []byte(":")})
		m = &o.members[len(o.members)-1]
	} else if bytes.Equal(m.value, value) {
		return
	}
	m.value = value
	o.changed = true
}

// drop removes a member, and reports whether it was there.
func (o *object) drop(key string) bool {
	m := o.find(key)
	if m == nil {
		return false
	}
	m.dropped, o.changed = true, true
	return true
}

// rename gives a member another name.
func (o *object) rename(m *member, key string) {
	m.key, m.name, o.changed = key, []byte(`"`+key+`"`), true
}

// text is the object as it is now; data is what it was parsed from.
func (o *object) text(data []byte) []byte {
	if !o.changed {
		return data
	}
	out := bytes.NewBuffer(make([]byte, 0, len(data)+256))
	out.Write(o.before)
	out.WriteByte('{')
	first := true
	for _, m := range o.members {
		if m.dropped {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		for _, part := range [][]byte{m.lead, m.name, m.between, m.value, m.tail} {
			out.Write(part)
		}
	}
	out.WriteByte('}')
	out.Write(o.after)
	return out.Bytes()
}

// elements are those of an array, with the white space around them; one more than may be
// where it has too many.
func elements(data []byte) (values, whole [][]byte) {
	d := newDecoder(data)
	_, _ = d.ReadToken() // the opening bracket
	at := d.InputOffset()
	for d.PeekKind() != ']' && len(values) <= mostElements {
		value, gap := next(d, data, at)
		at = d.InputOffset()
		if n := len(whole); n > 0 {
			tail, lead, _ := bytes.Cut(gap, []byte(","))
			whole[n-1], gap = slices.Concat(whole[n-1], tail), lead
		}
		values, whole = append(values, value), append(whole, slices.Concat(gap, value))
	}
	_, _ = d.ReadToken()
	if n := len(whole); n > 0 {
		whole[n-1] = slices.Concat(whole[n-1], data[at:d.InputOffset()-1])
	}
	return values, whole
}

// array is one of elements with the white space that they had.
func array(whole [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(whole, []byte{','})...), ']')
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

// isNull says that a value stands for none.
func isNull(raw []byte) bool { return string(raw) == "null" }

// isEmpty says that a value is nothing: null, false, "", [] or {}.
func isEmpty(raw []byte) bool {
	switch string(raw) {
	case "null", "false", `""`, "[]", "{}":
		return true
	}
	return (raw[0] == '[' || raw[0] == '{') && len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
}
