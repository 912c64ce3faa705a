package docker

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
)

// The labels of our containers. A base, being a container's commit, has those of
// the sandbox that it was.
const (
	labelDeployment = "yudai.deployment"
	labelName       = "yudai.name"
	labelBase       = "yudai.base"     // the base it was opened from
	labelOwner      = "yudai.owner"    // of the call that made it
	labelDeadline   = "yudai.deadline" // when it ends by itself
	labelDisk       = "yudai.disk"     // its limit, in bytes
	labelAllow      = "yudai.allow"    // its allow-list
	labelSocket     = "yudai.socket"   // the directory of its Network.Socket
	labelLaunch     = "yudai.launch"   // it may launch programs
	labelReadonly   = "yudai.readonly" // what is read-only in its image
	labelProbe      = "yudai.probe"    // not a sandbox: it shows what the engine can do
	labelSpec       = "yudai.label."   // before each label of the spec
)

// plan is a container that is to be made.
type plan struct {
	name     string
	from     string
	image    string
	fresh    bool // from the image, not from a base
	readonly []string
	limits   sandbox.Limits
	allow    []string
	socket   string // the spec's directory with a socket; "" for none
	launch   bool
	ttl      time.Duration
	labels   map[string]string
	proxy    string // directory of the proxy's socket on the host; "" for none
}

func newPlan(spec sandbox.Spec, limits sandbox.Limits) *plan {
	p := &plan{
		name: spec.Name, from: spec.From, limits: limits, allow: spec.Network.Allow, socket: spec.Network.Socket, launch: spec.Launch,
		ttl: spec.TTL, labels: make(map[string]string),
	}
	for k, v := range spec.Labels {
		p.labels[labelSpec+k] = v
	}
	p.labels[labelName], p.labels[labelBase], p.labels[labelOwner] = p.name, p.from, token()
	p.labels[labelDisk], p.labels[labelAllow], p.labels[labelProbe] = strconv.FormatInt(limits.Disk, 10), encode(p.allow), ""
	p.labels[labelDeadline], p.labels[labelSocket], p.labels[labelLaunch] = "", p.socket, ""
	if p.launch {
		p.labels[labelLaunch] = "1"
	}
	if p.ttl > 0 {
		p.labels[labelDeadline] = time.Now().Add(p.ttl).UTC().Format(time.RFC3339)
	}
	return p
}

// planOf reads back from a container what its new owner needs to know.
func planOf(c container.InspectResponse) *plan {
	p := &plan{name: c.Config.Labels[labelName], labels: c.Config.Labels}
	p.limits.Disk, _ = strconv.ParseInt(c.Config.Labels[labelDisk], 10, 64)
	p.allow, p.socket = decode(c.Config.Labels[labelAllow]), c.Config.Labels[labelSocket]
	p.launch = c.Config.Labels[labelLaunch] != ""
	return p
}

// use sets what the container starts from. A container has the labels of its image
// unless it has others of that name.
func (p *plan) use(image imageFacts, readonly []string, fresh bool) {
	p.image, p.readonly, p.fresh = image.id, readonly, fresh
	p.labels[labelReadonly] = encode(readonly)
	for k := range image.labels {
		if _, ours := p.labels[k]; !ours && strings.HasPrefix(k, labelSpec) {
			p.labels[k] = ""
		}
	}
}

// specLabels are the spec's labels among a container's or a base's.
func specLabels(all map[string]string) map[string]string {
	out := make(map[string]string)
	for k, v := range all {
		if name, ok := strings.CutPrefix(k, labelSpec); ok && v != "" {
			out[name] = v
		}
	}
	return out
}

func encode(list []string) string {
	text, _ := json.Marshal(list) // strings are always possible
	return string(text)
}

func decode(text string) []string {
	var list []string
	_ = json.Unmarshal([]byte(text), &list) // a label of ours
	return list
}

// token is a new owner's.
func token() string { return strings.ToLower(rand.Text()) }

// keeper is the first process: it waits, for so many seconds, and meanwhile reaps
// the orphans of others. Beside it runs the forwarder where anything can be reached; it
// is started again should anybody end it.
const keeper = `export YUDAI_KEEP=1 limit=$1
shift
while [ "$limit" = infinity ] || ((SECONDS < limit)); do
  if [ $# != 0 ] && ! kill -0 "$forward"; then
    [ -z "$forward" ] || { sleep 1 & wait "$!"; }
    "$@" </dev/null >/dev/null 2>&1 &
    forward=$!
  fi
  if ! kill -0 "$wait"; then
    if [ "$limit" = infinity ]; then sleep infinity & else sleep $((limit - SECONDS)) & fi
    wait=$!
  fi
  wait -n
done`

// forwardPath is our own binary inside a container from which anything can be reached.
const forwardPath = "/run/yudai/forward"

// ways are what the forwarder offers inside, each an address and a socket.
func (p *plan) ways() []string {
	var all []string
	if p.proxy != "" {
		all = append(all, egress.Address, egress.SocketInside)
	}
	if p.socket != "" {
		all = append(all, sandbox.SocketAddress, socketDir+"/"+sandbox.SocketName)
	}
	return all
}

// config is the container itself.
func (d *Driver) containerConfig(p *plan) *container.Config {
	user := fmt.Sprintf("%d:%d", d.config.UID, d.config.UID)
	limit := "infinity"
	if p.ttl > 0 {
		limit = strconv.FormatInt(int64((p.ttl+time.Second-1)/time.Second), 10)
	}
	cmd := []string{"-c", keeper, "yudai", limit}
	if ways := p.ways(); len(ways) > 0 {
		cmd = append(append(cmd, forwardPath, forwardArg), ways...)
	}
	labels := maps.Clone(p.labels)
	labels[labelDeployment] = d.deployment
	return &container.Config{
		Image: p.image, User: user, Hostname: "yudai", WorkingDir: "/", Labels: labels, NetworkDisabled: true,
		Entrypoint: []string{"/bin/bash"}, Cmd: cmd,
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

// hostConfig is what holds the container in.
func (d *Driver) hostConfig(p *plan) *container.HostConfig {
	processes := int64(p.limits.Processes)
	h := &container.HostConfig{
		NetworkMode: network.NetworkNone, IpcMode: container.IPCModePrivate, CapDrop: []string{"ALL"},
		SecurityOpt: []string{"no-new-privileges"}, Runtime: d.config.Runtime, LogConfig: container.LogConfig{Type: "none"},
		ReadonlyPaths: append(kernelPaths(), p.readonly...),
		Resources: container.Resources{
			Memory: p.limits.Memory, MemorySwap: p.limits.Memory, NanoCPUs: int64(p.limits.CPUs * 1e9), PidsLimit: &processes,
			Ulimits: []*container.Ulimit{{Name: "core", Soft: 0, Hard: 0}},
		},
	}
	show := func(source, target string) {
		if source != "" {
			h.Mounts = append(h.Mounts, mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: true})
		}
	}
	show(p.proxy, egress.DirInside)
	show(p.socket, socketDir)
	if len(h.Mounts) > 0 {
		show(d.binary(), forwardPath)
	}
	return h
}

// kernelPaths are read-only in every container; naming others leaves these out.
func kernelPaths() []string {
	return []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
}
