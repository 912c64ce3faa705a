package postgres

func (t *tx) setMeta(name, value string) error {
	_, err := t.do("insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = $2", name, value)
	return err
}
