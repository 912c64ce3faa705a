// Package gitenv is the environment of every git program that yudai starts, on this machine
// and inside sandboxes. Strangers wrote what these read, so nothing of a repository, a user
// or the machine may choose a program, a server, or what a file's bytes mean.
package gitenv

import "fmt"

// Variables are the whole environment of a git program, without the search path. conf is
// configuration beside the fixed one. It overrides what stands in a repository.
func Variables(conf ...[2]string) map[string]string {
	env := map[string]string{
		"LC_ALL": "C", "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent",
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "GIT_ATTR_NOSYSTEM": "1",
		"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": "", "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1",
		"GIT_NO_REPLACE_OBJECTS": "1", "GIT_PAGER": "cat", "GIT_EDITOR": "false", "GIT_TEMPLATE_DIR": "",
		// A missing object is an error. A repository's protocol.*.allow outranks protocol.allow, but not the list.
		"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none",
	}
	all := append(fixed(), conf...)
	env["GIT_CONFIG_COUNT"] = fmt.Sprint(len(all))
	for i, kv := range all {
		env[fmt.Sprintf("GIT_CONFIG_KEY_%d", i)], env[fmt.Sprintf("GIT_CONFIG_VALUE_%d", i)] = kv[0], kv[1]
	}
	return env
}

// BigFile is the size from which git streams a file instead of holding it in memory.
const BigFile = 64 << 20

func fixed() [][2]string {
	return [][2]string{
		{"core.hooksPath", "/dev/null"},
		{"core.fsmonitor", "false"},
		{"core.attributesFile", "/dev/null"},
		{"core.excludesFile", "/dev/null"},
		{"core.askPass", ""},
		{"core.pager", "cat"},
		{"core.sshCommand", "false"},
		{"core.alternateRefsCommand", "false"},
		{"core.bigFileThreshold", fmt.Sprint(BigFile)},
		{"credential.helper", ""},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"safe.directory", "*"},
		{"submodule.recurse", "false"},
		{"fetch.recurseSubmodules", "false"},
		{"fetch.writeCommitGraph", "false"},
		{"protocol.allow", "never"},
		{"init.templateDir", ""},
		{"transfer.bundleURI", "false"},
		{"advice.detachedHead", "false"},
	}
}
