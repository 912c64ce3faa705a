package postgres

import "context"

// Setting is what the database's connections have of a setting of the server.
func (s *Store) Setting(ctx context.Context, name string) (value string, err error) {
	err = s.pool.QueryRow(ctx, "select current_setting($1)", name).Scan(&value)
	return value, err
}

// Settle asks for the outcome of a transaction whose commit failed.
func (s *Store) Settle(ctx context.Context, failed error) error {
	return s.settle(ctx, mark{"a connection", 1}, failed)
}
