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
	labelProgram    = "yudai.program"  // path of the guest program
	labelProbe      = "yudai.probe"    // not a sandbox: it shows what the engine can do
	labelSpec       = "yudai.label."   // before each label of the spec
)

// plan is a container that is to be made, or one that was found.
type plan struct {
	spec     sandbox.Spec // with all limits
	image    imageFacts
	readonly []string
	labels   map[string]string
	proxy    string // directory of the proxy's socket on the host; "" for none
}

// newPlan is the plan of a sandbox. A container inherits its image's labels, so those that it
// must not have are empty.
func newPlan(spec sandbox.Spec, image imageFacts, readonly []string) *plan {
	p := &plan{spec: spec, image: image, readonly: readonly, labels: map[string]string{
		labelName: spec.Name, labelBase: spec.From, labelOwner: token(), labelDeadline: "",
		labelDisk: strconv.FormatInt(spec.Limits.Disk, 10), labelAllow: encode(spec.Network.Allow), labelSocket: spec.Network.Socket,
		labelLaunch: "", labelReadonly: encode(readonly), labelProgram: image.program.Path, labelProbe: "",
	}}
	if spec.Launch {
		p.labels[labelLaunch] = "1"
	}
	if spec.TTL > 0 {
		p.labels[labelDeadline] = time.Now().Add(spec.TTL).UTC().Format(time.RFC3339)
	}
	for k := range image.labels {
		if strings.HasPrefix(k, labelSpec) {
			p.labels[k] = ""
		}
	}
	for k, v := range spec.Labels {
		p.labels[labelSpec+k] = v
	}
	return p
}

// planOf reads back from a container what its new owner needs to know.
func planOf(c container.InspectResponse, image imageFacts) *plan {
	p := &plan{labels: c.Config.Labels, image: image}
	p.spec.Name, p.spec.Launch = p.labels[labelName], p.labels[labelLaunch] != ""
	p.spec.Limits.Disk, _ = strconv.ParseInt(p.labels[labelDisk], 10, 64)
	p.spec.Network = sandbox.Network{Allow: decode(p.labels[labelAllow]), Socket: p.labels[labelSocket]}
	return p
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

// ways are what the container's first process forwards, each an address and a socket.
func (p *plan) ways() []string {
	var all []string
	if len(p.spec.Network.Allow) > 0 {
		all = append(all, egress.Address+" "+egress.SocketInside)
	}
	if p.spec.Network.Socket != "" {
		all = append(all, sandbox.SocketAddress+" "+socketDir+"/"+sandbox.SocketName)
	}
	return all
}

// containerConfig is the container itself.
func (d *Driver) containerConfig(p *plan) *container.Config {
	first := protocol.Request{Life: int64((p.spec.TTL + time.Second - 1) / time.Second), Ways: p.ways()}
	labels := maps.Clone(p.labels)
	labels[labelDeployment] = d.deployment
	return &container.Config{
		Image: p.image.id, User: fmt.Sprintf("%d:%d", d.config.UID, d.config.UID), Hostname: "yudai", WorkingDir: "/", Labels: labels,
		NetworkDisabled: true, Entrypoint: []string{p.image.program.Path, protocol.VerbInit}, Cmd: first.Items(),
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
	}
}

// socketDir is where the directory of Network.Socket is shown inside.
const socketDir = "/run/yudai/socket"

// hostConfig is what holds the container in. The paths below /proc are those that engines
// make read-only by themselves, where nobody names others.
func (d *Driver) hostConfig(p *plan) *container.HostConfig {
	limits := p.spec.Limits
	processes := int64(limits.Processes)
	readonly := []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", protocol.ProgramDir}
	h := &container.HostConfig{
		NetworkMode: network.NetworkNone, IpcMode: container.IPCModePrivate, CapDrop: []string{"ALL"},
		SecurityOpt: []string{"no-new-privileges"}, Runtime: d.config.Runtime, LogConfig: container.LogConfig{Type: "none"},
		ReadonlyPaths: append(readonly, p.readonly...),
		Resources: container.Resources{
			Memory: limits.Memory, MemorySwap: limits.Memory, NanoCPUs: int64(limits.CPUs * 1e9), PidsLimit: &processes,
			Ulimits: []*container.Ulimit{{Name: "core", Soft: 0, Hard: 0}},
		},
	}
	for _, m := range []struct{ source, target string }{{p.proxy, egress.DirInside}, {p.spec.Network.Socket, socketDir}} {
		if m.source != "" {
			h.Mounts = append(h.Mounts, mount.Mount{Type: mount.TypeBind, Source: m.source, Target: m.target, ReadOnly: true})
		}
	}
	return h
}
