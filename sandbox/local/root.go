package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/sandbox/egress"
)

// The identity that commands see.
const (
	insideID = "1000"
	user     = "yudai"
)

// goRootInside is where a Go installation from outside /usr appears.
const goRootInside = "/opt/go"

// root describes the file system that commands see: an allow-list. A read-only
// bind of the whole host would leave its unix sockets connectable and its
// world-readable secrets readable.
type root struct {
	usr    []string          // arguments for /usr and the links beside it
	etc    []string          // the parts of the host's /etc that are shown
	extra  []bind            // toolchains, and the operator's choice
	env    map[string]string // what package guest does not set for every command
	goRoot string            // host path, empty if under /usr or absent
	bundle string            // this machine's certificates, empty if not found
}

// bind is a place of the host that is shown.
type bind struct {
	host, inside string
	dir          bool
	masked       bool // a toolchain that was found, and not the operator's choice
}

// newRoot looks at the host once.
func newRoot(c Config) (*root, error) {
	r := &root{env: map[string]string{
		"LOGNAME": user,
		// The toolchain must be the one that is here: nothing can be fetched.
		"GOTOOLCHAIN": "local",
	}}
	search := "/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"
	r.goRoot = findGo(c.GoRoot)
	if r.goRoot != "" {
		search = goRootInside + "/bin:" + search
	}
	r.extra = findToolchains(c.Toolchains)
	for _, b := range r.extra {
		search = b.inside + "/bin:" + search
	}
	r.env["PATH"] = search
	r.usr, r.etc, r.bundle = hostArgs(), hostEtc(), findBundle()
	for _, e := range c.ExtraRO {
		host, inside := splitBind(e)
		st, err := os.Stat(host)
		if err != nil {
			return nil, fmt.Errorf("sandbox.local.extra_ro: %w", err)
		}
		r.extra = append(r.extra, bind{host: host, inside: inside, dir: st.IsDir()})
	}
	return r, nil
}

// hostArgs are the arguments that show the host's programs.
func hostArgs() []string {
	args := append([]string{"--ro-bind", "/usr", "/usr"}, maskArgs("/usr", "/usr")...)
	for _, p := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		st, err := os.Lstat(p)
		switch {
		case err != nil:
		case st.Mode()&os.ModeSymlink != 0:
			if to, err := os.Readlink(p); err == nil {
				args = append(args, "--symlink", to, p)
			}
		default:
			args = append(args, "--ro-bind", p, p)
		}
	}
	return args
}

// tokenPlaces are places below a shown directory where package managers and tools of a
// machine keep tokens of registries, and settings that name servers; * stands for characters of one component.
func tokenPlaces() []string {
	return []string{
		"etc", "local/etc", "local/var", "local/secrets", "local/share/.config", "local/share/npm/etc",
		"local/cargo/config", "local/cargo/config.toml", "local/cargo/credentials", "local/cargo/credentials.toml", "local/aws", "local/gcloud",
		"local/.npmrc", "local/.netrc", "share/httpd/.netrc", "lib/pip.conf", "local/lib/pip.conf", "local/share/pip.conf", "local/pip.conf",
		"share/*maven*/conf/settings.xml", "local/*maven*/conf/settings.xml", "local/bundle/config",
		"lib/node_modules/npm/npmrc", "local/lib/node_modules/npm/npmrc",
	}
}

// maskArgs are the arguments that hide these places below dir of this machine, which is shown
// as another: what links lead to, unless that is not shown. Where /usr/local is a link out of
// /usr, nothing below it is there to be hidden, and bubblewrap would not start.
func maskArgs(dir, inside string) []string {
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	var args, hidden []string
	var places []string
	for _, pattern := range tokenPlaces() {
		found, _ := fs.Glob(os.DirFS(top), pattern) // the patterns are right
		places = append(places, found...)
	}
	for _, p := range places {
		target, err := filepath.EvalSymlinks(dir + "/" + p)
		rest, shown := strings.CutPrefix(target, top+"/")
		at := inside + "/" + rest
		within := func(h string) bool { return strings.HasPrefix(at+"/", h+"/") }
		if err != nil || !shown || slices.ContainsFunc(hidden, within) {
			continue
		}
		hidden = append(hidden, at)
		switch st, err := os.Stat(target); {
		case err != nil || !st.IsDir() && !st.Mode().IsRegular():
		case st.IsDir():
			args = append(args, "--tmpfs", at, "--remount-ro", at)
		default:
			args = append(args, "--ro-bind", private+"/"+etcName+"/"+standIn(p), at)
		}
	}
	return args
}

// standIn is the file of [etcFiles] that is shown in place of a hidden one: an empty one, if that is as good as none.
func standIn(p string) string {
	if name := path.Base(p); name == "settings.xml" {
		return name
	}
	return "resolv.conf"
}

// hostEtc lists the parts of /etc without secrets; /etc/ssl/private is not among them.
func hostEtc() []string {
	wanted := []string{
		"/etc/alternatives", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates.conf", "/etc/pki/tls/certs",
		"/etc/pki/ca-trust", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
		"/etc/mime.types", "/etc/protocols", "/etc/services", "/etc/debian_version", "/etc/os-release",
		"/etc/maven/m2.conf", "/etc/maven/logging", "/etc/maven/toolchains.xml", // settings.xml holds passwords of servers
	}
	for _, pattern := range []string{"/etc/java-*", "/etc/python3*"} {
		found, _ := filepath.Glob(pattern)
		wanted = append(wanted, found...)
	}
	return slices.DeleteFunc(wanted, func(p string) bool {
		_, err := os.Stat(p)
		return err != nil
	})
}

// etcFiles are the small files of /etc that we write ourselves.
func etcFiles() map[string]string {
	id := ":x:" + insideID + ":"
	return map[string]string{
		"passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\n" +
			user + id + insideID + "::" + sandbox.HomeDir + ":/bin/bash\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		"group":         "root:x:0:\n" + user + id + "\nnogroup:x:65534:\n",
		"hosts":         "127.0.0.1 localhost yudai\n::1 localhost\n",
		"hostname":      "yudai\n",
		"resolv.conf":   "",
		"nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
		"settings.xml":  "<settings/>\n",
	}
}

// findGo returns the Go installation to bind, or nothing if there is none or it
// lies under /usr, which is visible anyway.
func findGo(configured string) string {
	switch configured {
	case noGo:
		return ""
	case "":
	default:
		return configured
	}
	program, err := exec.LookPath("go")
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "env", "GOROOT")
	cmd.Dir = "/"
	// The installed toolchain, not one that a go.mod nearby asks for.
	cmd.Env = askingEnv("GOTOOLCHAIN=local", "GOFLAGS=")
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	dir, err := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
	if err != nil || strings.HasPrefix(dir, "/usr/") {
		return ""
	}
	return dir
}

// sources adds the operator's directories to those of a helper.
func (r *root) sources(add func(name, path string, dir bool)) {
	for i, b := range r.extra {
		add(fmt.Sprintf("extra%d", i), b.host, b.dir)
	}
	if r.goRoot != "" {
		add("goroot", r.goRoot, true)
	}
}

// socketInside is where the directory of Network.Socket is shown.
const socketInside = "/run/yudai/socket"

// args returns the arguments of bubblewrap, each ended by a zero byte.
func (r *root) args(proxy, socket, newer bool, program string) ([]byte, error) {
	args := []string{
		"--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--as-pid-1", "--uid", insideID, "--gid", insideID,
		"--hostname", "yudai", "--cap-drop", "ALL",
		"--seccomp", fmt.Sprint(seccompFD), "--block-fd", fmt.Sprint(blockFD), "--json-status-fd", fmt.Sprint(statusFD),
	}
	shm := []string{"--tmpfs", "/dev/shm"}
	if newer {
		args = append(args, "--disable-userns")
		shm = append([]string{"--size", fmt.Sprint(64 << 20)}, shm...)
	}
	args = append(args, r.usr...)
	args = append(args, "--proc", "/proc", "--dev", "/dev")
	args = append(args, shm...)
	args = append(args, "--remount-ro", "/dev")
	show := func(name, inside string) { args = append(args, "--ro-bind", private+"/"+name, inside) }
	show(etcName, "/etc")
	for i, b := range r.extra {
		show(fmt.Sprintf("extra%d", i), b.inside)
		if b.masked {
			args = append(args, maskArgs(b.host, b.inside)...)
		}
	}
	if r.goRoot != "" {
		show("goroot", goRootInside)
		args = append(args, maskArgs(r.goRoot, goRootInside)...)
	}
	show("program", program)
	if proxy {
		show("proxy", egress.DirInside)
	}
	if socket {
		show("socket", socketInside)
	}
	args = append(args, "--dir", "/var", "--symlink", "/tmp", "/var/tmp",
		"--bind", private+"/"+rootName+"/workspace", "/workspace", "--bind", private+"/"+rootName+"/tmp", "/tmp",
		// bubblewrap's own root is a tmpfs that takes memory: nothing may be written there.
		"--remount-ro", "/", "--chdir", "/", "--clearenv",
		// Else the first process executes itself once more, and may lose on the way what ends it with bubblewrap.
		"--setenv", "GOMAXPROCS", "1")
	for _, s := range args {
		if strings.Contains(s, "\x00") {
			return nil, errors.New("a path contains a zero byte")
		}
	}
	return []byte(strings.Join(args, "\x00") + "\x00"), nil
}
