package server

import (
	"context"
	"net/http"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/palantir/go-githubapp/githubapp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/yudai-dev/yudai/ghapp"
	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/model"
	"github.com/yudai-dev/yudai/model/gateway"
	"github.com/yudai-dev/yudai/repoconfig"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/setup"
	"github.com/yudai-dev/yudai/solve"
	"github.com/yudai-dev/yudai/store/bolt"
	"github.com/yudai-dev/yudai/web"
)

// InYAML writes a value as the reference of the configuration does.
func InYAML(v reflect.Value) string { return inYAML("", v, nil) }

// InForce are the settings that operators see.
func InForce(c Config, getenv func(string) string) []web.Setting {
	return c.inForce(shownText(getenv, c.secrets(getenv)))
}

// ByCommand notes what a command has changed, as the start of a server does.
func ByCommand(c *Config) { c.changedSince(commandLine) }

// RepositoryKeys are the keys that a repository's own file may narrow, with its key there.
func RepositoryKeys() map[string]string { return repositoryKeys() }

// Checkup runs the doctor on demand.
type Checkup struct{ *checkup }

// NewCheckup has not looked yet.
func NewCheckup(d *setup.Doctor, secrets *strings.Replacer, now func() time.Time) Checkup {
	return Checkup{newCheckup(d, secrets, now)}
}

// Run makes the checks that are asked for.
func (c Checkup) Run(ctx context.Context) error { return c.run(ctx) }

// TokenSetting is the text that names where the API's token is configured.
func TokenSetting(l Listen) string { return l.tokenSetting() }

// PublicMetrics is what the listener of everything serves at /metrics.
func PublicMetrics(l Listen, numbers http.Handler, token ghapp.Secret) http.Handler {
	return l.publicMetrics(numbers, token)
}

// Pressed is the command of a button.
func Pressed(on solve.Solve, who solve.Person, kind solve.CommandKind, argument string) (solve.Command, string) {
	return pressed(on, who, kind, argument, Default().openVocabulary())
}

// OnlyHere decides whether pages are opened by a printed link, and metrics without a token.
func OnlyHere(address, publicURL string) bool { return onlyHere(address, publicURL) }

// MetricNames are the names of all metrics of ours.
func MetricNames() []string {
	m := newMetrics()
	m.add(newStateMetrics(nil, nil, nil))
	ch := make(chan *prometheus.Desc)
	go func() {
		defer close(ch)
		for _, c := range m.own {
			c.Describe(ch)
		}
	}()
	var names []string
	for d := range ch {
		_, name, _ := strings.Cut(d.String(), `fqName: "`)
		name, _, _ = strings.Cut(name, `"`)
		names = append(names, name)
	}
	return names
}

// Metered is what counts, with the wrappers that count into it.
type Metered struct{ m *metrics }

// NewMetered has no state to read.
func NewMetered() Metered { return Metered{newMetrics()} }

// Handler is what is scraped.
func (c Metered) Handler() http.Handler { return c.m.handler(zerolog.Nop()) }

// Intake, Accepter, Driver and GitHub wrap parts; the others are told what happens.
func (c Metered) Intake(hook http.Handler, events []githubapp.EventHandler) http.Handler {
	return c.m.intake(hook, events)
}
func (c Metered) Accepter(next handlers.Accepter) handlers.Accepter {
	return countingAccepter{next, c.m}
}
func (c Metered) Driver(next sandbox.Driver) sandbox.Driver         { return c.m.driver(next) }
func (c Metered) Queried(model string, used solve.Usage, err error) { c.m.queried(model, used, err) }
func (c Metered) Gateway(one gateway.Count)                         { c.m.relayed(one) }
func (c Metered) GitHub(next http.RoundTripper) http.RoundTripper   { return c.m.transport(next) }
func (c Metered) Ended(s solve.Solve, runs []solve.Run)             { c.m.ended(s, runs) }
func (c Metered) Written(kind solve.EffectKind, outcome string)     { c.m.written(kind, outcome) }

// SetClock, Asked and Health are of what is known of drivers and models.
func (c Metered) SetClock(now func() time.Time)          { c.m.health.now = now }
func (c Metered) Asked(name string, failed *model.Error) { c.m.health.model(name, failed) }
func (c Metered) Health(drivers []string, models *model.Set, wanted []string) []web.Health {
	return c.m.health.list(drivers, models, wanted)
}

// Watch reads states, too.
func (c Metered) Watch(s *bolt.Store, left map[int64]int, writes map[int64]float64) {
	c.m.add(newStateMetrics(s, func() map[int64]int { return left }, func() map[int64]float64 { return writes }))
}

// Readiness is the handler of /readyz.
func Readiness(store interface {
	Commands(ctx context.Context) ([]solve.Command, error)
}, engine interface{ Leased() time.Time }, log zerolog.Logger, writing, ending bool) http.Handler {
	r := &readiness{store: store, engine: engine, log: onceAMinute(log)}
	r.writing.Store(writing)
	r.ending.Store(ending)
	return r
}

// OperatorOf is what a configuration lets a repository's own file say.
func OperatorOf(c Config) repoconfig.Operator { return c.operator() }

// Labels are the labels that ask for a solve, and what others begin with that do.
func Labels(c Config) (labels map[string]string, prefix string) { return c.labels(), c.labelPrefix() }

// AgentNames are the agents of a configuration.
func AgentNames(c Config) []string { return c.agentNames() }

// BuildOf is the version and the origin of another build, with a stamp.
func BuildOf(settings map[string]string, stamp string) (version, origin string) {
	info := &debug.BuildInfo{}
	for key, value := range settings {
		info.Settings = append(info.Settings, debug.BuildSetting{Key: key, Value: value})
	}
	info = stamped(info, stamp)
	return versionOf(info), originOf(info)
}

// NobodyListens is whether a call did not reach a server.
var NobodyListens = nobodyListens
