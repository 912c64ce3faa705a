package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// What follows reads JSON that is known to be valid, in place: what is not changed
// stays as it was sent, byte for byte.

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

// parseObject takes an object apart. Two members of one name are refused: servers differ
// in which of them they take.
func parseObject(data []byte) (*object, *rejection) {
	i := space(data, 0)
	if i >= len(data) || data[i] != '{' {
		return nil, reject("", "it must be a JSON object")
	}
	o := &object{before: data[:i]}
	seen := map[string]bool{}
	for i++; ; i++ {
		lead := i
		i = space(data, i)
		if data[i] == '}' { // empty
			break
		}
		m := member{lead: data[lead:i]}
		end := skip(data, i)
		m.name = data[i:end]
		m.key = text(m.name)
		i = space(data, space(data, end)+1)
		m.between = data[end:i]
		end = skip(data, i)
		m.value = data[i:end]
		i = space(data, end)
		m.tail = data[end:i]
		switch {
		case seen[m.key]:
			return nil, reject(m.key, "it holds %q twice", short(m.key))
		case len(o.members) == mostMembers:
			return nil, reject("", "it has more than %d members", mostMembers)
		}
		seen[m.key] = true
		o.members = append(o.members, m)
		if data[i] == '}' {
			break
		}
	}
	o.after = data[i+1:]
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
	for i := 1; ; i++ {
		begin := i
		i = space(data, i)
		if data[i] == ']' {
			return values, whole
		}
		end := skip(data, i)
		value := data[i:end]
		i = space(data, end)
		values, whole = append(values, value), append(whole, data[begin:i])
		if data[i] == ']' || len(values) > mostElements {
			return values, whole
		}
	}
}

// array is one of elements with the white space that they had.
func array(whole [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(whole, []byte{','})...), ']')
}

// space is where something else than white space begins.
func space(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skip is where the value ends that begins at i.
func skip(data []byte, i int) int {
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
	default:
		for i < len(data) && !bytes.ContainsRune([]byte(",]} \n\t\r"), rune(data[i])) {
			i++
		}
		return i
	}
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = skipString(data, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

// skipString is where the string ends that begins at i: behind the first quote with an
// even number of backslashes before it.
func skipString(data []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return len(data)
		}
		i += n
		from := i
		for data[from-1] == '\\' {
			from--
		}
		if (i-from)%2 == 0 {
			return i + 1
		}
	}
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
	return (raw[0] == '[' || raw[0] == '{') && space(raw, 1) == len(raw)-1
}
