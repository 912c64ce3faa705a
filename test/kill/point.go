package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/internal/failpoint"
)

// The scenes: what people do while the program is killed.
const (
	sceneLabel   = "label"   // somebody puts the label on
	sceneComment = "comment" // somebody asks by comment, and then for the status
	sceneCancel  = "cancel"  // the label, and a cancel while the runs are at work
)

func scenes() []string { return []string{sceneLabel, sceneComment, sceneCancel} }

// moment is the name of points that are no failpoint but a time: nth is in
// milliseconds from the trigger.
const moment = "moment"

// restarted marks points of the process that follows a killed one: recovery has points of its own.
const restarted = "restart"

// point is one place to kill or stall the program at.
type point struct {
	scene   string
	restart bool
	spec    spec
}

// String is the point as -only takes it: scene:name=action@nth, scene+restart:name=action@nth.
func (p point) String() string {
	where := p.scene
	if p.restart {
		where += "+" + restarted
	}
	return where + ":" + p.spec.String()
}

func parsePoint(text string) (point, error) {
	where, what, _ := strings.Cut(text, ":")
	scene, more, plus := strings.Cut(where, "+")
	p := point{scene: scene, restart: more == restarted}
	if !slices.Contains(scenes(), scene) || plus != p.restart {
		return p, fmt.Errorf("point %q: want %s (and +%s), a colon, name=action@nth", text, strings.Join(scenes(), ", "), restarted)
	}
	var err error
	p.spec, err = parseSpec(what)
	return p, err
}

// dice are a point's own: the same whatever else the campaign does.
func (p point) dice(seed uint64) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, p)
	return rand.New(rand.NewPCG(seed, h.Sum64())) //nolint:gosec // to be repeated, not to be guessed
}

// recording is what one undisturbed run of a scene hit, and how often each name.
type recording struct {
	scene   string
	restart bool
	hits    map[string]int
	took    time.Duration
}

// names lists every point of the recordings.
func names(recorded []recording) []string {
	var out []string
	for _, r := range recorded {
		for name, n := range r.hits {
			p := point{scene: r.scene, restart: r.restart, spec: spec{Name: name, Action: failpoint.Kill, Nth: n}}
			out = append(out, p.String())
		}
	}
	slices.Sort(out)
	return out
}

// sample draws n points, the same for the same recordings and seed. Names that
// had no turn yet go first; every tenth point is a random moment.
func sample(recorded []recording, n int, seed uint64) []point {
	s := sampler{dice: rand.New(rand.NewPCG(seed, 0)), places: map[string][]recording{}, drawn: map[string]bool{}} //nolint:gosec // as above
	recorded = slices.SortedFunc(slices.Values(recorded), func(a, b recording) int {
		return cmp.Or(cmp.Compare(a.scene, b.scene), cmp.Compare(fmt.Sprint(a.restart), fmt.Sprint(b.restart)))
	})
	for _, r := range recorded {
		for name := range r.hits {
			s.places[name] = append(s.places[name], r)
		}
	}
	var turn []string
	for len(s.points) < n {
		if len(s.points)%10 == 9 {
			s.moment(recorded)
			continue
		}
		if len(turn) == 0 {
			turn = slices.Sorted(maps.Keys(s.places))
			s.dice.Shuffle(len(turn), func(i, j int) { turn[i], turn[j] = turn[j], turn[i] })
		}
		s.named(turn[0])
		turn = turn[1:]
	}
	return s.points
}

type sampler struct {
	dice   *rand.Rand
	places map[string][]recording // where each name is hit
	drawn  map[string]bool
	points []point
}

// action is a kill mostly.
func (s *sampler) action() failpoint.Action {
	switch s.dice.IntN(10) {
	case 0, 1:
		return failpoint.Stop
	case 2:
		return failpoint.Stall
	default:
		return failpoint.Kill
	}
}

// named draws a place and a time of a name, one that was not drawn before if that is easily found.
func (s *sampler) named(name string) {
	var p point
	for range 20 {
		r := s.places[name][s.dice.IntN(len(s.places[name]))]
		p = point{scene: r.scene, restart: r.restart, spec: spec{Name: name, Action: s.action(), Nth: 1 + s.dice.IntN(r.hits[name])}}
		if !s.drawn[p.String()] {
			break
		}
	}
	s.add(p)
}

func (s *sampler) moment(recorded []recording) {
	r := recorded[s.dice.IntN(len(recorded))]
	action := failpoint.Kill
	if s.dice.IntN(4) == 0 {
		action = failpoint.Stop
	}
	s.add(point{scene: r.scene, spec: spec{Name: moment, Action: action, Nth: 1 + s.dice.IntN(max(int(r.took.Milliseconds()), 1))}})
}

func (s *sampler) add(p point) {
	s.drawn[p.String()] = true
	s.points = append(s.points, p)
}
