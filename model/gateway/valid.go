package gateway

import "bytes"

// maxDepth is how deep JSON may be nested; encoding/json has the same bound.
const maxDepth = 10000

// valid reports whether data is one JSON value, as encoding/json sees it, in a fraction of
// its time. Conversations are long, and this is most of what a call costs here.
func valid(data []byte) bool {
	v := validator{data: data}
	if v.i = space(data, 0); !v.value(0) {
		return false
	}
	return space(data, v.i) == len(data)
}

type validator struct {
	data []byte
	i    int
}

// at is the byte here, 0 behind the end.
func (v *validator) at() byte {
	if v.i < len(v.data) {
		return v.data[v.i]
	}
	return 0
}

func (v *validator) value(depth int) bool {
	switch c := v.at(); c {
	case '{', '[':
		return depth < maxDepth && v.container(depth, c)
	case '"':
		return v.text()
	case 't':
		return v.word("true")
	case 'f':
		return v.word("false")
	case 'n':
		return v.word("null")
	}
	return v.number()
}

func (v *validator) word(w string) bool {
	if !bytes.HasPrefix(v.data[v.i:], []byte(w)) {
		return false
	}
	v.i += len(w)
	return true
}

// container is an object or an array.
func (v *validator) container(depth int, open byte) bool {
	end := open + 2 // of both
	v.i = space(v.data, v.i+1)
	if v.at() == end {
		v.i++
		return true
	}
	for {
		if open == '{' && !v.name() || !v.value(depth+1) {
			return false
		}
		v.i = space(v.data, v.i)
		switch v.at() {
		case ',':
			v.i = space(v.data, v.i+1)
		case end:
			v.i++
			return true
		default:
			return false
		}
	}
}

// name is that of a member, with its colon.
func (v *validator) name() bool {
	if v.at() != '"' || !v.text() {
		return false
	}
	v.i = space(v.data, v.i)
	if v.at() != ':' {
		return false
	}
	v.i = space(v.data, v.i+1)
	return true
}

func (v *validator) text() bool {
	data := v.data
	for i := v.i + 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			v.i = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			n := escape(data[i+1:])
			if n == 0 {
				return false
			}
			i += n
		}
	}
	return false
}

// escape is the length of what follows a backslash, 0 if nothing may.
func escape(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(b) < 5 {
			return 0
		}
	default:
		return 0
	}
	for _, c := range b[1:5] {
		if !(c >= '0' && c <= '9' || c|' ' >= 'a' && c|' ' <= 'f') {
			return 0
		}
	}
	return 5
}

func (v *validator) number() bool {
	if v.at() == '-' {
		v.i++
	}
	switch {
	case v.at() == '0':
		v.i++
	case !v.digits():
		return false
	}
	if v.at() == '.' {
		v.i++
		if !v.digits() {
			return false
		}
	}
	if v.at()|' ' == 'e' {
		v.i++
		if c := v.at(); c == '+' || c == '-' {
			v.i++
		}
		return v.digits()
	}
	return true
}

// digits steps over some, one at least.
func (v *validator) digits() bool {
	from := v.i
	for c := v.at(); c >= '0' && c <= '9'; c = v.at() {
		v.i++
	}
	return v.i > from
}
