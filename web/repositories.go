package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// maxRepositories is how many a page shows: of each, GitHub is asked whether a person may read it.
const maxRepositories = 50

// recordsPage has what won in each repository.
type recordsPage struct {
	Repos []repoRecord
	Name  string // the one that was asked for; "" is all
	Left  bool   // some were not looked at
}

type repoRecord struct {
	Name   string
	Solves int
	Arms   []armRecord
}

// armRecord is the rate of an arm, with its interval of 95 %.
type armRecord struct {
	solve.Rate
	Low, High int
}

// repositories shows the track records, those of the most solves first; ?repo=owner/name is one of them.
func (p *Pages) repositories(w http.ResponseWriter, r *http.Request) {
	all, err := p.Store.TrackRecords(r.Context())
	body := recordsPage{Name: strings.TrimSpace(r.URL.Query().Get("repo"))}
	shown := slices.DeleteFunc(slices.Clone(all), func(t solve.TrackRecord) bool {
		return body.Name != "" && !strings.EqualFold(t.Repo.String(), body.Name)
	})
	slices.SortStableFunc(shown, func(a, b solve.TrackRecord) int { return cmp.Compare(b.Solves, a.Solves) })
	body.Left = len(shown) > maxRepositories
	for _, t := range shown[:min(len(shown), maxRepositories)] {
		if !p.reads(r, t.Repo) {
			continue
		}
		rates, failed := solve.RatesOf(t.Repo.String(), all)
		err = cmp.Or(err, failed)
		one := repoRecord{Name: t.Repo.String(), Solves: t.Solves}
		for _, rate := range rates {
			low, high := rate.Interval()
			one.Arms = append(one.Arms, armRecord{rate, low, high})
		}
		body.Repos = append(body.Repos, one)
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.show(w, r, http.StatusOK, "repositories.html", page{Title: "Repositories"}, body)
}
