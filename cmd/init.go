package cmd

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/yudai-dev/yudai/internal/durable"
	"github.com/yudai-dev/yudai/server"
)

func newInit(s streams) *cobra.Command {
	path, force := "", false
	c := &cobra.Command{
		Use: "init", Short: "Ask at most five questions and write a first config.yml", Args: wants(0, "no arguments"),
		Long: "Ask at most five questions and write a first config.yml: which endpoint and models, what holds their key, who\n" +
			"gives issues, and where code runs. Enter takes the answer in brackets; a flag answers its question. The key\n" +
			"itself is never asked for and never written.",
	}
	c.Flags().StringVarP(&path, "config", "c", server.ConfigFile, "the file to write")
	c.Flags().BoolVar(&force, "force", false, "replace the file if there is one")
	for _, q := range questions() {
		c.Flags().String(q.flag, "", q.usage)
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		if _, err := os.Lstat(path); err == nil && !force {
			return usage(fmt.Errorf("%s is there already: name another file with --config, or replace it with --force", path))
		}
		a, lines := answers{models: []string{"any"}, driver: "local"}, bufio.NewReader(s.in)
		for _, q := range questions() {
			if err := q.ask(s, lines, c.Flags(), &a); err != nil {
				return usage(fmt.Errorf("--%s: %w", q.flag, err))
			}
		}
		if err := durable.WriteFile(path, a.file()); err != nil {
			return err
		}
		fmt.Fprint(s.out, a.next(path))
		return nil
	}
	return c
}

// answers are those of the person.
type answers struct {
	endpoint        endpoint
	models          []string
	keyEnv, keyFile string
	app             bool
	driver          string
}

// endpoint is a server of models. docs/endpoints.md tells how to start each.
type endpoint struct {
	name, provider, url string
	keyEnv, model       string // the usual answers
}

// endpoints are those that init knows by name.
var endpoints = []endpoint{
	{"openai", "openai", "", "OPENAI_API_KEY", "gpt-5-mini"},
	{"anthropic", "anthropic", "", "ANTHROPIC_API_KEY", "claude-haiku-4-5"},
	{"openrouter", "openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "qwen/qwen3-coder"},
	{"ollama", "openai", "http://127.0.0.1:11434/v1", "", "qwen3-coder"},
	{"vllm", "openai", "http://127.0.0.1:8000/v1", "", "Qwen/Qwen3-Coder-30B-A3B-Instruct"},
	{"lmstudio", "openai", "http://127.0.0.1:1234/v1", "", "openai/gpt-oss-20b"},
	{"llamacpp", "openai", "http://127.0.0.1:8081/v1", "", "local"},
	{"litellm", "openai", "http://127.0.0.1:4000/v1", "LITELLM_API_KEY", ""},
}

// endpointNames are the names of the endpoints.
func endpointNames() (names []string) {
	for _, e := range endpoints {
		names = append(names, e.name)
	}
	return names
}

// question is one of init's. A flag with its name answers it, too.
type question struct {
	flag, usage, text string
	preset            func(a answers) string // what Enter answers; "" is nothing
	take              func(a *answers, answer string) error
}

func questions() []question {
	names := strings.Join(endpointNames(), ", ")
	return []question{
		{
			"endpoint", "where the models are: " + names + ", or the URL of an OpenAI-compatible server",
			"Which endpoint has the models? " + names + ",\nor the URL of any other OpenAI-compatible server, with its /v1.",
			func(answers) string { // the first whose key is there
				i := slices.IndexFunc(endpoints, func(e endpoint) bool { return os.Getenv(e.keyEnv) != "" })
				return endpoints[max(i, 0)].name
			}, (*answers).takeEndpoint,
		},
		{
			"model", "the model by the endpoint's own name, or several with commas between them",
			"Which model, by the endpoint's own name? Several with commas between them.",
			func(a answers) string { return a.endpoint.model }, (*answers).takeModels,
		},
		{
			"key-from", "what holds the key: a variable such as LLM_API_KEY, a file such as /etc/yudai/key, or none",
			"What holds the key: a variable such as LLM_API_KEY, a file such as /etc/yudai/key, or none? Not the key itself.",
			func(a answers) string { return cmp.Or(a.endpoint.keyEnv, "none") }, (*answers).takeKey,
		},
		{
			"github", "who gives issues: no (you, by yudai solve) or app (GitHub, by an App of your own)",
			"Do issues come from GitHub: no (you give them to yudai solve) or app (a GitHub App, which yudai setup registers)?",
			func(answers) string { return "no" },
			func(a *answers, answer string) error { a.app = answer == "app"; return oneOf(answer, "no", "app") },
		},
		{
			"sandbox", "where the server's solves run code: local (bubblewrap on this machine) or docker (a container engine)",
			"Where does code of agents and tests run: local (bubblewrap on this machine) or docker (a container engine)?",
			func(answers) string { return "local" },
			func(a *answers, answer string) error { a.driver = answer; return oneOf(answer, "local", "docker") },
		},
	}
}

// ask takes the answer of the flag, else of the next line. On a terminal it asks again after a wrong one.
func (q question) ask(s streams, lines *bufio.Reader, flags *pflag.FlagSet, a *answers) error {
	if flags.Changed(q.flag) {
		return q.take(a, flags.Lookup(q.flag).Value.String())
	}
	if q.flag == "sandbox" && !a.app {
		return nil // yudai solve always uses local
	}
	preset := q.preset(*a)
	prompt := strings.TrimPrefix("["+preset+"] ", "[]")
	fmt.Fprintln(s.out, q.text)
	for {
		fmt.Fprint(s.out, prompt)
		line, err := lines.ReadString('\n')
		if err != nil && line == "" {
			fmt.Fprintln(s.out)
			return fmt.Errorf("nobody answers on standard input (%w): give this flag; see yudai init --help", err)
		}
		err = q.take(a, cmp.Or(strings.TrimSpace(line), preset))
		if f, ok := s.in.(*os.File); err == nil || !ok || !term.IsTerminal(int(f.Fd())) {
			return err
		}
		fmt.Fprintf(s.out, "No: %v\n", err)
	}
}

func (a *answers) takeEndpoint(answer string) error {
	names := endpointNames()
	if i := slices.Index(names, strings.ToLower(answer)); i >= 0 {
		a.endpoint = endpoints[i]
		return nil
	}
	if !strings.Contains(answer, "://") {
		return fmt.Errorf("%q is neither a URL nor one of %s%s", answer, strings.Join(names, ", "), didYouMean("", answer, names))
	}
	a.endpoint = endpoint{provider: "openai", url: answer}
	return a.check()
}

func (a *answers) takeModels(answer string) error {
	a.models = regexp.MustCompile(`\s*,\s*`).Split(answer, -1)
	return a.check()
}

// keyVariable is narrower than what a variable can be called: many keys are words of letters and digits.
var keyVariable = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,99}$`)

// takeKey never repeats the answer, which may be a key.
func (a *answers) takeKey(answer string) error {
	switch {
	case answer == "none" && a.endpoint.url == "":
		return fmt.Errorf("%s asks for a key: name a variable or a file, such as %s", a.endpoint.name, a.endpoint.keyEnv)
	case answer == "none":
	case strings.HasPrefix(answer, "/"), strings.HasPrefix(answer, "./"):
		a.keyFile = answer
	case keyVariable.MatchString(answer):
		a.keyEnv = answer
	default:
		return errors.New("this is neither the name of a variable, in capitals, nor a file that begins with / or ./, nor none")
	}
	return a.check()
}

func oneOf(answer string, words ...string) error {
	if slices.Contains(words, answer) {
		return nil
	}
	return fmt.Errorf("%q is none of %s", answer, strings.Join(words, ", "))
}

// check reads what would be written so far.
func (a answers) check() error {
	_, err := server.Parse("file", a.file(), func(string) string { return "" })
	if err == nil {
		return nil
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	_, problem, _ := strings.Cut(first, ": ") // without the place in the file
	return errors.New(problem)
}

// file is the text of the configuration. What has its default is left out.
func (a answers) file() []byte {
	var b, names bytes.Buffer
	b.WriteString("# Written by yudai init. Every other key has its default: yudai config --defaults prints them.\n\n" +
		"# The models, in the order of preference. Their keys are never written here.\nmodels:\n  models:\n")
	for _, name := range a.models {
		fmt.Fprintf(&names, "      - %q\n", name)
		fmt.Fprintf(&b, "    - name: %q\n      provider: %s\n", name, a.endpoint.provider)
		for _, key := range [][2]string{{"base_url", a.endpoint.url}, {"api_key_env", a.keyEnv}, {"api_key_file", a.keyFile}} {
			if key[1] != "" {
				fmt.Fprintf(&b, "      %s: %q\n", key[0], key[1])
			}
		}
		price := "# price: {input: 0.25, output: 2}"
		for _, e := range server.Default().Models.Models {
			if p := e.Price; e.Name == name && e.Provider == a.endpoint.provider && a.endpoint.url == "" {
				price = fmt.Sprintf("price: {input: %g, cached_input: %g, cache_write: %g, output: %g}",
					p.Input, p.CachedInput, p.CacheWrite, p.Output)
			}
		}
		fmt.Fprintf(&b, "      # US dollars per million tokens. Without a price no limit of money holds.\n      %s\n", price)
	}
	fmt.Fprintf(&b, "\nsolver:\n  defaults:\n    # What a solve tries that names no models.\n    models:\n%s\n", &names)
	b.WriteString("sandbox:\n  # Where the server's solves run: local or docker (docs/drivers.md). yudai solve always uses local.\n" +
		"  driver: " + a.driver + "\n")
	if a.app {
		b.WriteString("\nserver:\n  # Where yudai listens. yudai setup asks for the public URL that leads here, and registers the App.\n" +
			"  address: " + server.Default().Server.Address + "\n")
	}
	return b.Bytes()
}

// next says what to type now.
func (a answers) next(path string) string {
	text := "\n" + path + " is written."
	_, err := os.Stat(a.keyFile)
	if key := a.keyEnv + a.keyFile; key != "" && os.Getenv(a.keyEnv) == "" && err != nil {
		text += " Put the key into " + key + ", which is empty here."
	}
	with := ""
	if path != server.ConfigFile {
		with = " -c " + shellescape.Quote(path)
	}
	commands := [2]string{"models --check", "solve PATH ISSUE.md"}
	if a.app {
		commands = [2]string{"doctor", "setup"}
	}
	return fmt.Sprintf("%s Next:\n\n  yudai %s%s\n  yudai %s%s\n", text, commands[0], with, commands[1], with)
}
