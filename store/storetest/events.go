package storetest

import "github.com/yudai-dev/yudai/solve"

// Events are one of each event that a [solve.Change] may have, without content.
func Events() []solve.Event {
	return []solve.Event{
		solve.Greeted{}, solve.PlaceTold{}, solve.Claimed{}, solve.BaseReady{}, solve.ChampionChosen{}, solve.NoChampion{}, solve.Published{}, solve.Expired{},
		solve.Cancelled{}, solve.Aborted{}, solve.Started{}, solve.Adopted{}, solve.Requeued{}, solve.Lost{}, solve.AgentEnded{}, solve.Harvested{}, solve.Empty{}, solve.TimedOut{},
		solve.Judged{Verdict: solve.Verdict{Outcome: solve.Passed}}, solve.Judged{Verdict: solve.Verdict{Outcome: solve.Failed}}, solve.Judged{Verdict: solve.Verdict{Outcome: solve.NoVerdict}},
	}
}
