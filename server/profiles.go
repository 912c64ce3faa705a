package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/repoconfig"
)

// operator is what this configuration lets the file of a repository say.
func (c Config) operator() repoconfig.Operator {
	v := c.vocabulary()
	return c.Solver.Operator(v.Models, v.Agents, v.Sandboxes, c.Server.Label)
}

// openVocabulary is the vocabulary where the repository of a request may have names of
// its own, which are looked up when its solve is planned.
func (c Config) openVocabulary() handlers.Vocabulary {
	v := c.vocabulary()
	v.Open = c.Solver.Repository.Read
	return v
}

// labels are the labels that ask for a solve, each with its profile.
func (c Config) labels() map[string]string {
	labels := map[string]string{}
	for name, p := range c.Solver.Profiles {
		if p.Label != "" {
			labels[p.Label] = name
		}
	}
	labels[c.Server.Label] = "" // the default profile
	return labels
}

// labelPrefix is what the labels of repositories' own profiles begin with, "" if they
// are not noticed.
func (c Config) labelPrefix() string {
	if !c.Solver.Repository.Read {
		return ""
	}
	return repoconfig.LabelPrefix(c.Server.Label)
}

// checkProfiles reports what is wrong with the operator's own profiles.
func (c Config) checkProfiles(report func(key, problem string)) {
	op, owners := c.operator(), map[string]string{strings.ToLower(c.Server.Label): "server.label"}
	for _, name := range slices.Sorted(maps.Keys(c.Solver.Profiles)) {
		p := c.Solver.Profiles[name]
		op.CheckProfile(name, p, report)
		if p.Label == "" {
			continue
		}
		label := strings.ToLower(p.Label)
		if owner, taken := owners[label]; taken {
			report("profiles."+name+".label", fmt.Sprintf("%q is the label of %s already", p.Label, owner))
		}
		owners[label] = "solver.profiles." + name
	}
}
