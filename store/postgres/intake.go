package postgres

import "github.com/yudai-dev/yudai/solve"

func (t *tx) putLatest(s solve.Solve, issue int) error {
	_, err := t.do("insert into latest (repo, issue, solve) values ($1, $2, $3) on conflict (repo, issue) do update set solve = $3",
		s.Repo.ID, issue, s.ID)
	return err
}
