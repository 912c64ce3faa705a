package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/solve"
)

// grip is a lease as it was once given out; n is 0 for a solve's.
type grip struct {
	id    solve.ID
	n     int
	token uint64
	node  string
}

// chaos does random work in the name of nodes that die, and remembers enough
// to know what the store must answer.
type chaos struct {
	*world
	rnd    *rand.Rand
	caps   solve.Caps
	nodes  map[string]time.Time // end of the lease
	born   int
	grips  []grip
	newest map[string]uint64 // record: highest token given out
	ids    []solve.ID
	final  map[solve.ID]Dump
	wanted map[string]uint64 // effect: highest version asked for
	reopen func() Store
}

// Chaos does a number of random steps on an empty store, checks the invariants
// after each, and then lets one node finish everything. The same seed does the
// same. clock is the engine's. reopen, if not nil, closes the store and opens it again, now and then.
func Chaos(t testing.TB, s Store, clock *Clock, seed uint64, steps int, reopen func() Store) {
	t.Helper()
	c := &chaos{
		world: newWorld(t, s, clock), rnd: rand.New(rand.NewPCG(seed, seed)), reopen: reopen,
		caps:  solve.Caps{Process: 7, Installation: 5, Repository: 3},
		nodes: map[string]time.Time{}, newest: map[string]uint64{}, final: map[solve.ID]Dump{}, wanted: map[string]uint64{},
	}
	moves := []func(){
		c.create, c.heartbeat, c.heartbeat, c.die, c.claimAny, c.claimAny, c.admitAny, c.admitAny, c.rescueAny,
		c.write1, c.write1, c.write1, c.write1, c.write1, c.write1, c.write1, c.write1,
		c.stepAny, c.cancelAny, c.effectAny, c.effectAny, c.effectAny, c.pause, c.restart,
	}
	for i := range steps {
		moves[c.rnd.IntN(len(moves))]()
		c.invariants()
		if t.Failed() {
			t.Fatalf("seed %d, step %d", seed, i)
		}
	}
	c.finish()
}

func (c *chaos) alive(node string) bool { return c.nodes[node].After(c.now) }

// anyNode is a node, dead or alive; "" before there is one.
func (c *chaos) anyNode() string {
	if c.born == 0 {
		return ""
	}
	return fmt.Sprintf("node%d", c.born-c.rnd.IntN(min(c.born, 4)))
}

func (c *chaos) create() {
	if len(c.live()) >= 8 {
		return
	}
	r := repo(int64(c.rnd.IntN(4)))
	r.Installation = r.ID / 2
	wish := c.wish(r)
	if c.rnd.IntN(2) == 0 {
		_, _, err := c.s.Create(c.ctx, wish)
		c.ok(err)
	} else if !c.accept("guid"+string(wish.ID), solve.Intent{Solve: &wish}) {
		c.Errorf("a new delivery was not accepted")
	}
	c.ids = append(c.ids, wish.ID)
}

func (c *chaos) heartbeat() {
	node := c.anyNode()
	if node == "" || c.rnd.IntN(4) == 0 {
		c.born++
		node = fmt.Sprintf("node%d", c.born)
	}
	_, known := c.nodes[node]
	err := c.s.Heartbeat(c.ctx, node, 20*time.Second)
	if known && !c.alive(node) {
		c.is(err, solve.ErrLeaseLost)
		return
	}
	c.ok(err)
	c.nodes[node] = c.now.Add(20 * time.Second)
}

func (c *chaos) die() {
	if c.rnd.IntN(3) == 0 {
		node := c.anyNode()
		c.ok(c.s.Leave(c.ctx, node))
		if _, known := c.nodes[node]; known {
			c.nodes[node] = time.Time{}
		}
	}
}

func (c *chaos) pause() { c.now = c.now.Add(time.Duration(c.rnd.IntN(9)) * time.Second) }

// hold remembers a lease that was given out: its token must be the highest ever.
func (c *chaos) hold(id solve.ID, n int, l solve.Lease) {
	name := fmt.Sprintf("%s/%d", id, n)
	if l.Token <= c.newest[name] {
		c.Errorf("%s was given out with token %d after %d", name, l.Token, c.newest[name])
	}
	c.newest[name] = l.Token
	c.grips = append(c.grips, grip{id, n, l.Token, l.Node})
}

// asked says whether an operation of the node went through; a dead node's must not.
func (c *chaos) asked(node string, err error) bool {
	c.Helper()
	if !c.alive(node) {
		c.is(err, solve.ErrLeaseLost)
		return false
	}
	c.ok(err)
	return true
}

func (c *chaos) claimAny() {
	node := c.anyNode()
	got, err := c.s.ClaimSolve(c.ctx, node)
	if c.alive(node) && errors.Is(err, solve.ErrNotFound) {
		return
	}
	if c.asked(node, err) {
		c.hold(got.ID, 0, got.Lease)
	}
}

func (c *chaos) admitAny() {
	node := c.anyNode()
	list, err := c.s.Admit(c.ctx, node, c.caps)
	if c.asked(node, err) {
		for _, r := range list {
			c.hold(r.Solve, r.N, r.Lease)
		}
	}
}

func (c *chaos) rescueAny() {
	node := c.anyNode()
	list, err := c.s.Rescue(c.ctx, node)
	if c.asked(node, err) {
		for _, r := range list {
			c.hold(r.Solve, r.N, r.Lease)
		}
	}
}

// grip is one that was given out: mostly one that still holds.
func (c *chaos) grip() (grip, bool) {
	list := c.grips
	if c.rnd.IntN(5) > 0 {
		list = nil
		for _, g := range c.grips {
			if c.holds(g) {
				list = append(list, g)
			}
		}
	}
	if len(list) == 0 {
		return grip{}, false
	}
	return list[c.rnd.IntN(len(list))], true
}

func (c *chaos) lease(g grip) (l solve.Lease, state string) {
	if g.n == 0 {
		s := c.solve(g.id)
		return s.Lease, string(s.State)
	}
	r := c.run(g.id, g.n)
	return r.Lease, string(r.State)
}

// holds says whether the store must still let the holder write.
func (c *chaos) holds(g grip) bool {
	l, _ := c.lease(g)
	return l == solve.Lease{Node: g.node, Token: g.token} && c.alive(g.node)
}

func (c *chaos) cancelAny() {
	if len(c.ids) > 0 && c.rnd.IntN(4) == 0 {
		_, err := c.s.RequestCancel(c.ctx, c.ids[c.rnd.IntN(len(c.ids))], "chaos", "")
		c.ok(err)
	}
}

// restart closes and opens the store: nothing is different, but all nodes are dead and
// hold no claims.
func (c *chaos) restart() {
	if c.reopen == nil || c.rnd.IntN(3) > 0 {
		return
	}
	before := map[solve.ID]Dump{}
	for _, id := range c.ids {
		before[id] = c.dump(id)
	}
	asks, due := c.asks(), map[string]bool{}
	for _, e := range c.due() {
		due[e.Key] = true
	}
	c.s = c.reopen()
	for _, id := range c.ids {
		for i, e := range before[id].Effects {
			before[id].Effects[i] = e.Orphaned()
			if e.State == solve.EffectSending {
				due[e.Key] = true
			}
		}
		c.same(before[id], c.dump(id))
	}
	again := map[string]bool{}
	for _, e := range c.due() {
		again[e.Key] = true
	}
	if diff := cmp.Diff(asks, c.asks()) + cmp.Diff(due, again); diff != "" {
		c.Errorf("after opening again (-want +got):\n%s", diff)
	}
	for node := range c.nodes {
		c.nodes[node] = time.Time{}
	}
}
