package judge

import (
	"fmt"

	"al.essio.dev/pkg/shellescape"
)

// notObeyed is what an install prints that goes on without a lock file.
func notObeyed(lock string) string {
	return lock + " was not obeyed, so versions may differ from those that the repository names"
}

func printing(note string) string { return "echo " + shellescape.Quote(note) }

// pythonTool calls a program that the machine may lack. It is installed outside of the tests'
// environment, which keeps what it needs.
func pythonTool(name, arguments string) string {
	return fmt.Sprintf(`{ { command -v %[1]s >/dev/null || { python3 -m venv "$HOME/%[1]s" && `+
		`"$HOME/%[1]s/bin/pip" install -q %[1]s; }; } && `+
		`PATH="$PATH:$HOME/%[1]s/bin" %[1]s %[2]s; }`, name, arguments)
}

// pipfileRequirements prints what a Pipfile.lock pins.
const pipfileRequirements = `python3 -c '
import json
lock = json.load(open("Pipfile.lock"))
for name, p in {**lock["develop"], **lock["default"]}.items():
    if "version" in p:
        extras = "[" + ",".join(p["extras"]) + "]" if "extras" in p else ""
        print(name + extras + p["version"] + ("; " + p["markers"] if "markers" in p else ""))
'`

// pythonLocked is the command that installs exactly what a lock file names, and the package; "" without one. pip
// installs for uv and pipenv, so that the operator's index is asked and the interpreter stays.
func pythonLocked(r *repository, pyproject, cfg string) (lock, command string) {
	const file = `"$HOME/locked.txt"`
	extra, group := testKey(pyproject, "project", "optional-dependencies"), testKey(pyproject, "dependency-groups")
	switch lock = r.first("uv.lock", "poetry.lock", "Pipfile.lock"); lock {
	case "uv.lock":
		export := "export -q --frozen --no-hashes --no-header -o " + file
		if extra != "" {
			export += " --extra " + extra
		}
		if group != "" {
			export += " --group " + group
		}
		command = pythonTool("uv", export) + " && pip install -q -r " + file
	case "poetry.lock":
		command = "install -q --no-interaction"
		if extra := testExtra(pyproject, cfg); extra != "" {
			command += " -E " + extra
		}
		command = pythonTool("poetry", command)
	case "Pipfile.lock":
		command = pipfileRequirements + " > " + file + " && pip install -q -r " + file
		for _, step := range pythonPackage(r, pyproject, cfg) {
			command += " && " + step
		}
	}
	return lock, command
}
