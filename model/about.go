package model

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/yudai-dev/yudai/agent"
)

// About is what people are told of a model before they choose it.
type About struct {
	Name     string       `json:"name"`
	Provider string       `json:"provider"`
	Host     string       `json:"host,omitempty"` // of its server; "" for a script and a roulette
	Default  bool         `json:"default"`        // whether it is among those that were named as such
	Price    *agent.Price `json:"price"`          // nil is unknown
	Problem  string       `json:"problem"`        // why it cannot be used; "" is nothing that is known
}

// About tells of all models, in order. With ask each is asked, as [Set.Ask] does, all at once.
func (s *Set) About(ctx context.Context, defaults []string, ask bool) []About {
	var asked sync.WaitGroup
	out := make([]About, len(s.entries))
	for i, e := range s.entries {
		price := e.Price
		if e.Provider == Scripted {
			price = s.scripts[e.Name].PriceOf(e.Name, e.Price)
		}
		a := About{Name: e.Name, Provider: e.Provider, Default: slices.Contains(defaults, e.Name)}
		if price.Known() {
			a.Price = &price
		}
		if u, err := url.Parse(e.root()); err == nil && e.Provider != Scripted && e.Provider != Roulette {
			a.Host = u.Host
		}
		out[i] = a
		asked.Go(func() {
			err := s.Ready(e.Name)
			if ask && err == nil {
				err = s.Ask(ctx, e.Name)
			}
			if err != nil {
				out[i].Problem = strings.TrimPrefix(err.Error(), "model "+e.Name+": ")
			}
		})
	}
	asked.Wait()
	return out
}
