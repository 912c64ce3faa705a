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

// InTheWay does a transaction that always meets another one, and returns how often that was.
func (s *Store) InTheWay(ctx context.Context, done func(n int)) (n int, err error) {
	err = s.update(ctx, func(*tx) error {
		n++
		done(n)
		return errAgain
	})
	return n, err
}
