package rights

// Remembered counts what is kept.
func (r *Rights) Remembered() int { return len(r.people) + len(r.lookups) + len(r.told) }
