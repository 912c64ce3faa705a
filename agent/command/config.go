package command

import "time"

// Config is the section agents of config.yml.
type Config struct {
	// Patience is how long a program may go on after the gateway refused its last call
	// because a limit or the budget is used up.
	Patience time.Duration `yaml:"patience"`
	// Commands are agents beside the built-in ones.
	Commands []Entry `yaml:"commands"`
}

// Entry is one agent of the operator's own.
type Entry struct {
	// Name is what people write in agents=...
	Name string `yaml:"name"`
	// APIs are those it speaks, the preferred one first.
	APIs []string `yaml:"apis"`
	// Command is the program with its arguments; or Shell is a text for bash. The
	// arguments may hold {task_file}, {run_dir} and {model}; a shell has the variables.
	Command []string `yaml:"command"`
	Shell   string   `yaml:"shell"`
	// Task is how it gets its task: [TaskByFile] or [TaskByStdin].
	Task string `yaml:"task"`
	// Env is added to its environment. The values may hold {url} and {token}, too.
	Env map[string]string `yaml:"env"`
	// BaseURLStyle is whose variables tell it the gateway: [StyleOpenAI],
	// [StyleAnthropic], [StyleNone]; "" goes by the API that it uses.
	BaseURLStyle string `yaml:"base_url_style"`
	// Install is for bash in [agent.InstallDir]; Hosts may be reached meanwhile.
	Install string   `yaml:"install"`
	Hosts   []string `yaml:"hosts"`
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
