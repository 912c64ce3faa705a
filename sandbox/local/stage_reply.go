package local

import "encoding/json"

// answer sends the final reply of a request.
func (o *session) answer(id uint64, number int64, text string, err error) {
	r := reply{ID: id, Kind: kindDone, Number: number, Text: text}
	if err != nil {
		r.Err = err.Error()
	}
	o.reply(r)
}

// reply sends one reply; a lost owner is noticed by the reading side.
func (o *session) reply(r reply) {
	body, err := json.Marshal(r)
	if err != nil {
		return
	}
	o.send.Lock()
	defer o.send.Unlock()
	_, _ = o.conn.Write(body)
}
