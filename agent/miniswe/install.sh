# Makes mini-swe-agent's own Python environment from the lock, and checks that it starts.
set -eu
dir=/workspace/agents/mini-swe-agent
lock=/workspace/agents/mini-swe-agent.txt

fail() {
	echo "mini-swe-agent: $*" >&2
	exit 1
}

python=
for candidate in python3 python3.13 python3.12 python3.11 python3.10; do
	if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
		python=$candidate
		break
	fi
done
[ -n "$python" ] || fail "it needs Python 3.10 or newer where the sandboxes run: install python3 and python3-venv (their names in Debian and Ubuntu), or leave the agent out"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
	fail "this Python cannot make environments: install python3-venv (its name in Debian and Ubuntu) where the sandboxes run"

"$python" -m venv --clear "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-cache-dir --no-compile \
	--no-deps --require-hashes --only-binary :all: --requirement "$lock" ||
	fail "its packages could not be installed; a mirror of PyPI is named by PIP_INDEX_URL in solver.tests.install_env"
"$dir/bin/python" -m pip uninstall --quiet --disable-pip-version-check --yes setuptools pip

# Importing also compiles what a run will need, and nothing else.
export MSWEA_GLOBAL_CONFIG_DIR=$dir/state MSWEA_SILENT_STARTUP=1 LITELLM_LOCAL_MODEL_COST_MAP=True LITELLM_MODE=PRODUCTION
"$dir/bin/python" -c '
import minisweagent.agents.default, minisweagent.environments.local, minisweagent.run.mini
import minisweagent.models.litellm_model, minisweagent.models.litellm_response_model
import litellm
for model in "openai/x", "anthropic/x":
    litellm.completion(model=model, messages=[{"role": "user", "content": "x"}], mock_response="x")
' >"$dir/check.log" 2>&1 || {
	tail -n 3 "$dir/check.log" >&2
	fail "it was installed and does not start"
}
rm -rf "$dir/state" "$dir/check.log" "$lock"
# The packaged configuration, at a path that does not depend on the version of Python.
ln -sfn "$("$dir/bin/python" -c 'import importlib.util as u; print(u.find_spec("minisweagent").submodule_search_locations[0])')/config" "$dir/config"
