package postgres

import "context"

// Setting is what the database's connections have of a setting of the server.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	err = s.pool.QueryRow(ctx, "select current_setting($1)", name).Scan(&value)
	return value, err
}
