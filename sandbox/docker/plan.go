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
	"github.com/yudai-dev/yudai/sandbox/guest"
	"github.com/yudai-dev/yudai/sandbox/guest/protocol"
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
	labelProgram    = "yudai.program"  // path of the program inside
	labelProbe      = "yudai.probe"    // not a sandbox: it shows what the engine can do
	labelSpec       = "yudai.label."   // before each label of the spec
)

// plan is a container that is to be made.
type plan struct {
	name     string
	from     string
	image    string
	program  guest.Program
	missing  bool // the image lacks the program
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
	p.program, p.missing = image.program, image.labels[labelProgram] != image.program.Path
	p.labels[labelReadonly], p.labels[labelProgram] = encode(readonly), p.program.Path
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

// ways are what the container's first process offers, each an address and a socket.
func (p *plan) ways() []string {
	var all []string
	if len(p.allow) > 0 {
		all = append(all, egress.Address+" "+egress.SocketInside)
	}
	if p.socket != "" {
		all = append(all, sandbox.SocketAddress+" "+socketDir+"/"+sandbox.SocketName)
	}
	return all
}

// config is the container itself.
func (d *Driver) containerConfig(p *plan) *container.Config {
	user := fmt.Sprintf("%d:%d", d.config.UID, d.config.UID)
	first := protocol.Request{Life: int64((p.ttl + time.Second - 1) / time.Second), Ways: p.ways()}
	labels := maps.Clone(p.labels)
	labels[labelDeployment] = d.deployment
	return &container.Config{
		Image: p.image, User: user, Hostname: "yudai", WorkingDir: "/", Labels: labels, NetworkDisabled: true,
		Entrypoint: []string{p.program.Path, protocol.VerbInit}, Cmd: first.Items(),
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

// hostConfig is what holds the container in.
func (d *Driver) hostConfig(p *plan) *container.HostConfig {
	processes := int64(p.limits.Processes)
	h := &container.HostConfig{
		NetworkMode: network.NetworkNone, IpcMode: container.IPCModePrivate, CapDrop: []string{"ALL"},
		SecurityOpt: []string{"no-new-privileges"}, Runtime: d.config.Runtime, LogConfig: container.LogConfig{Type: "none"},
		ReadonlyPaths: append(append(kernelPaths(), protocol.ProgramDir), p.readonly...),
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
	return h
}

// kernelPaths are read-only in every container; naming others leaves these out.
func kernelPaths() []string {
	return []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
}
