package command

import "time"

// Config is the section agents of config.yml.
type Config struct {
	// How long such a program may continue after the gateway refused a call because a limit of the run or the solve's budget is
	// used up; 1s to 1h.
	Patience time.Duration `yaml:"patience"`
	// Your own agents, beside the built-in ones. Each needs name, apis, and command or shell.
	Commands []Entry `yaml:"commands"`
}

// Entry is one agent of the operator's own.
type Entry struct {
	// What people write in agents=...; letters a to z, digits and -.
	Name string `yaml:"name"`
	// The APIs that it uses, the preferred one first: chat (/v1/chat/completions), responses (/v1/responses), messages
	// (/v1/messages).
	APIs []string `yaml:"apis"`
	// The program and its arguments, such as [my-agent, "{task_file}"]. {task_file}, {run_dir} and {model} are replaced.
	Command []string `yaml:"command"`
	// A text for bash instead of command. It reads YUDAI_TASK_FILE, YUDAI_RUN_DIR, YUDAI_MODEL, YUDAI_API, YUDAI_URL and
	// YUDAI_TOKEN.
	Shell string `yaml:"shell"`
	// How it gets its task: file (it reads {task_file}) or stdin; "" is file.
	Task string `yaml:"task"`
	// Its environment variables. {url}, {token}, {model}, {task_file} and {run_dir} are replaced. Put no secrets of yours here.
	Env map[string]string `yaml:"env"`
	// The variables that name the gateway: openai (OPENAI_BASE_URL with /v1, and OPENAI_API_KEY), anthropic (ANTHROPIC_BASE_URL
	// without /v1, and ANTHROPIC_API_KEY), or none; "" follows the API.
	BaseURLStyle string `yaml:"base_url_style"`
	// A text for bash, run once for each base in /workspace/agents, such as pip install --target my-agent my-agent==1.0. NAME/bin
	// is added to the program's PATH; "" installs nothing.
	Install string `yaml:"install"`
	// Hosts that may be reached during install, beside those of solver.tests.install_env.
	Hosts []string `yaml:"hosts"`
}

// How a program gets its task.
const (
	TaskByFile  = "file"  // it finds the file itself
	TaskByStdin = "stdin" // the file is its input
)

// Whose variables tell a program where its model is.
const (
	StyleOpenAI    = "openai"    // OPENAI_BASE_URL with /v1, OPENAI_API_KEY
	StyleAnthropic = "anthropic" // ANTHROPIC_BASE_URL without /v1, ANTHROPIC_API_KEY
	StyleNone      = "none"      // only what Env says
)

// DefaultConfig is ten seconds, and no agents beside the built-in ones.
func DefaultConfig() Config {
	return Config{Patience: 10 * time.Second, Commands: []Entry{}}
}
