package gateway

import (
	"regexp"
	"strings"

	"github.com/yudai-dev/yudai/model"
)

// record keeps the beginning of a body.
type record struct {
	most int // 0 keeps nothing
	data []byte
}

// margin is read beyond what is kept, so that a secret across the end is seen whole.
const margin = 4 << 10

// add keeps what there is room for.
func (r *record) add(data []byte) {
	if r.most > 0 {
		r.data = append(r.data, data[:max(min(len(data), r.most+margin-len(r.data)), 0)]...)
	}
}

// text is what was kept, without secrets.
func (r *record) text(token string, up *model.Upstream) []byte {
	if r.most == 0 || len(r.data) == 0 {
		return nil
	}
	s := strings.ReplaceAll(string(r.data), token, "[run token]")
	if up != nil {
		s = up.Scrub(s)
	}
	s = headerLike().ReplaceAllString(s, "${1}[removed]")
	return []byte(s[:min(len(s), r.most)])
}

// headerLike finds what stands after the name of a header that holds a secret.
func headerLike() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b((?:proxy-)?authorization\\?["']?\s*[:=]\s*\\?["']?(?:bearer|basic|token)\s+|` +
		`(?:x-api-key|api-key|set-cookie|cookie)\\?["']?\s*[:=]\s*\\?["']?)[^\s"'\\,;]{4,}`)
}
