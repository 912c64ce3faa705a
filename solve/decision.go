package solve

// Decision is the reducer's result: who won and every comparison that says why.
type Decision struct {
	Champion int `json:"champion"` // run number; 0: no candidate passed
	// PickedBy is who made it the champion, "" if the rule did; First is the rule's own
	// choice then.
	PickedBy string `json:"picked_by,omitempty"`
	First    int    `json:"first,omitempty"`
	// Withheld is the run that would be champion, were it not unproven; see [UnprovenComment].
	Withheld int `json:"withheld,omitempty"`
	// Ranking lists all runs, best first.
	Ranking []int `json:"ranking"`
	// Rule is the order of criteria that was used, in words.
	Rule []string `json:"rule"`
	// Cross is what the candidates' new tests said of each other; the rule reads it.
	Cross []CrossResult `json:"cross,omitempty"`
	// SandboxUses are the sandboxes of the cross tests.
	SandboxUses []SandboxUse `json:"stays,omitempty"`
	Comparisons []Comparison `json:"comparisons"`
}

// Comparison is one step of the ranking: neighbours and the first criterion
// that told them apart.
type Comparison struct {
	Winner    int    `json:"winner"`
	Loser     int    `json:"loser"`
	Criterion string `json:"criterion"`
	Left      string `json:"left"`  // the winner's value, for people
	Right     string `json:"right"` // the loser's
	Text      string `json:"text"`  // one sentence
}

// Record is a finished solve as exported: enough to recompute the decision.
type Record struct {
	V      int     `json:"v"`
	Solve  Solve   `json:"solve"`
	Runs   []Run   `json:"runs"`
	Events []Entry `json:"events,omitempty"`
}
