package handlers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/solve"
)

// vocabulary of the tests: names as an operator would configure them, one with a blank.
func vocabulary() handlers.Vocabulary {
	return handlers.Vocabulary{
		Models:     []string{"gpt-5-mini", "claude-haiku-4-5", "my model"},
		Strategies: []string{"plain", "test-first"},
		Agents:     []string{"mini"},
		Profiles:   []string{"cheap", "thorough"},
		Sandboxes:  []string{"local", "docker"},
	}
}

func TestParseCommentFindsCommands(t *testing.T) {
	t.Parallel()
	const fence = "```"
	for name, tt := range map[string]struct {
		body string
		want solve.CommandKind // "" means no command
	}{
		"bare":                        {"/yudai", solve.CommandHelp},
		"help":                        {"/yudai help", solve.CommandHelp},
		"dash h":                      {"/yudai -h", solve.CommandHelp},
		"dash dash help":              {"/yudai --help", solve.CommandHelp},
		"help of a verb":              {"/yudai solve --help", solve.CommandHelp},
		"help wins over what follows": {"/yudai help me", solve.CommandHelp},
		"help of revise":              {"/yudai revise --help", solve.CommandHelp},
		"help of pick":                {"/yudai pick -h", solve.CommandHelp},
		"retry":                       {"/yudai retry", solve.CommandRetry},
		"why":                         {"/yudai Why ", solve.CommandWhy},
		"pick":                        {"/yudai pick 12", solve.CommandPick},
		"pick with smart quotes":      {"/yudai pick “12”", solve.CommandPick},
		"revise":                      {"/yudai revise rename it", solve.CommandRevise},
		"revise on the next line":     {"/yudai REVISE\nrename it", solve.CommandRevise},
		"verb in any case":            {"/yudai STATUS", solve.CommandStatus},
		"word in any case":            {"/Yudai Cancel", solve.CommandCancel},
		"trailing blanks":             {"/yudai status \t\u00a0 ", solve.CommandStatus},
		"small indent":                {"   /yudai status", solve.CommandStatus},
		"windows line ends":           {"hello\r\n/yudai status\r\nbye", solve.CommandStatus},
		"first non-empty line":        {"\n\n/yudai status", solve.CommandStatus},
		"a later line of its own":     {"I think it is time.\n\n/yudai status\n\nThanks!", solve.CommandStatus},
		"no break space after it":     {"/yudai\u00a0status", solve.CommandStatus},
		"after a quote":               {"> what about it?\n\n/yudai status", solve.CommandStatus},
		"after details":               {"<details>\nlog\n</details>\n/yudai status", solve.CommandStatus},
		"details in code":             {"the `<details>` tag\n/yudai status", solve.CommandStatus},
		"details in longer code":      {"the ``<details>`` tag\n/yudai status", solve.CommandStatus},
		"tags in a fence":             {fence + "\n<pre>\n" + fence + "\n/yudai status", solve.CommandStatus},
		"a word like a tag":           {"<prefix>\n/yudai status", solve.CommandStatus},
		"after a fence":               {fence + "\nlog\n" + fence + "\n/yudai status", solve.CommandStatus},
		"hidden comment after it":     {"/yudai status <!-- id: 7 -->", solve.CommandStatus},
		"hidden comment before it":    {"<!-- id\n7 -->\n/yudai status", solve.CommandStatus},
		"text that opens no comment":  {"use <!-- to hide\n/yudai status", solve.CommandStatus},
		"comment sign in a fence":     {fence + "\n<!--\n" + fence + "\n/yudai status", solve.CommandStatus},

		"mention":                   {"@yudai solve", handlers.CommandSolve},
		"mention of the App's name": {"Now?\n\n@Acme-Yudai[bot]  SOLVE", handlers.CommandSolve},

		"empty":                   {"", ""},
		"mention of a person":     {"@kim solve", ""},
		"mention in a sentence":   {"so @yudai solve", ""},
		"thanks":                  {"@yudai thanks, that solves it", ""},
		"another verb":            {"@yudai solved it", ""},
		"quoted mention":          {"> @yudai solve", ""},
		"in a sentence":           {"please run /yudai status", ""},
		"another word":            {"/yudaibot status", ""},
		"a path":                  {"/yudai/status", ""},
		"quoted":                  {"> /yudai status", ""},
		"nested quote":            {">> /yudai status", ""},
		"list item":               {"- /yudai status", ""},
		"code span":               {"`/yudai status`", ""},
		"indented code":           {"    /yudai status", ""},
		"tab":                     {"\t/yudai status", ""},
		"fence":                   {fence + "\n/yudai status\n" + fence, ""},
		"fence with a language":   {fence + "sh\n/yudai status\n" + fence, ""},
		"preformatted":            {"<pre>\n/yudai status\n</pre>", ""},
		"details":                 {"<details><summary>log</summary>\n\n/yudai status\n\n</details>", ""},
		"details in details":      {"<DETAILS open>\n<details>\nx\n</details>\n/yudai status\n</details>", ""},
		"pre, another end":        {"<pre>\n</details>\n/yudai status\n</pre>", ""},
		"details, another end":    {"<details>\n</pre>\n/yudai status\n</details>", ""},
		"details with a slash":    {"<details/>\n/yudai status", ""},
		"details over two lines":  {"<details\n open>\n/yudai status\n</details>", ""},
		"unclosed details":        {"text\n<details>\n/yudai status", ""},
		"tildes":                  {"~~~\n/yudai status\n~~~", ""},
		"fence in a list":         {"- " + fence + "\n  /yudai status\n  " + fence, ""},
		"unclosed fence":          {fence + "\n/yudai status", ""},
		"shorter fence inside":    {fence + "`\n" + fence + "\n/yudai status\n" + fence + "`", ""},
		"other fence inside":      {fence + "\n~~~\n/yudai status\n" + fence, ""},
		"hidden":                  {"<!-- /yudai status -->", ""},
		"hidden on its own line":  {"<!--\n/yudai status\n-->", ""},
		"hidden to the end":       {"<!--\n/yudai status", ""},
		"hidden after some text":  {"hello <!--\n/yudai status\n--> world", ""},
		"hidden in hidden fence":  {"<!--\n" + fence + "\n-->\n" + fence + "\n/yudai status\n" + fence, ""},
		"command word broken up":  {"/yu<b></b>dai status", ""},
		"zero width in the word":  {"/\u200byudai status", ""},
		"our own answer's usage":  {"@kim, I did nothing. `/yudai` at the start of a line", ""},
		"line separator is blank": {"x\u2028/yudai status", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := vocabulary()
			v.Name = "acme-yudai"
			cmd, ok := handlers.ParseComment(tt.body, v)
			if ok != (tt.want != "") || cmd.Kind != tt.want || cmd.Problem != "" {
				t.Errorf("ParseComment(%q) = %+v, %v; want %q", tt.body, cmd, ok, tt.want)
			}
		})
	}
}

func TestParseCommentReadsArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]solve.Request{
		"":                                    {},
		"models=gpt-5-mini":                   {Models: []string{"gpt-5-mini"}},
		"models=gpt-5-mini,claude-haiku-4-5":  {Models: []string{"gpt-5-mini", "claude-haiku-4-5"}},
		"models=gpt-5-mini, claude-haiku-4-5": {Models: []string{"gpt-5-mini", "claude-haiku-4-5"}},
		`models="my model",gpt-5-mini`:        {Models: []string{"my model", "gpt-5-mini"}},
		`models="my model, gpt-5-mini"`:       {Models: []string{"my model", "gpt-5-mini"}},
		"models=“my model”":                   {Models: []string{"my model"}},
		"models=„my model“  agents=mini  ":    {Models: []string{"my model"}, Agents: []string{"mini"}},
		"MODELS=gpt-5-mini Temps=0,0.25,2":    {Models: []string{"gpt-5-mini"}, Temps: []float64{0, 0.25, 2}},
		"temps=.5,1.":                         {Temps: []float64{.5, 1}},
		"edits=0,5,1000":                      {Edits: []int{0, 5, 1000}},
		"strategies=plain,test-first":         {Strategies: []string{"plain", "test-first"}},
		"agents=mini":                         {Agents: []string{"mini"}},
		"repeat=20 parallel=64":               {Repeat: 20, Parallel: 64},
		"budget=5":                            {Budget: 5_000_000},
		"budget=$5":                           {Budget: 5_000_000},
		"budget=5usd":                         {Budget: 5_000_000},
		"budget=5USD":                         {Budget: 5_000_000},
		`budget="5 usd"`:                      {Budget: 5_000_000},
		"budget=5$":                           {Budget: 5_000_000},
		"budget=0.50":                         {Budget: 500_000},
		"budget=$0.000001":                    {Budget: 1},
		"budget=1000":                         {Budget: 1_000_000_000},
		"budget=20m":                          {TimeBudget: 20 * time.Minute},
		"budget=1H30M":                        {TimeBudget: 90 * time.Minute},
		"budget=$5,20m":                       {Budget: 5_000_000, TimeBudget: 20 * time.Minute},
		"budget=20m, 5":                       {Budget: 5_000_000, TimeBudget: 20 * time.Minute},
		"base=release/1.x":                    {Base: "release/1.x"},
		"base=a,b":                            {Base: "a,b"},
		"base=a=b":                            {Base: "a=b"},
		`"base=main"`:                         {Base: "main"},
		"base=main\u00a0\trepeat=2\u2003":     {Base: "main", Repeat: 2},
		"profile=cheap":                       {Profile: "cheap"},
		"sandbox=docker":                      {Sandbox: "docker"},
		"stop=First_Green repeat=3":           {Stop: solve.StopFirstGreen, Repeat: 3},
		"stop=waves models=gpt-5-mini":        {Stop: solve.StopWaves, Models: []string{"gpt-5-mini"}},
		"stop=all":                            {Stop: solve.StopAll},
		"reproduce=Off":                       {Reproduce: solve.ReproduceOff},
		"Profile=“thorough” repeat=2":         {Profile: "thorough", Repeat: 2},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			cmd, ok := handlers.ParseComment("/yudai solve "+args, vocabulary())
			if !ok || cmd.Problem != "" || cmd.Kind != handlers.CommandSolve {
				t.Fatalf("got %+v, %v", cmd, ok)
			}
			if diff := cmp.Diff(want, cmd.Request); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseCommentNamesTheProblem(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(" x=1", 33)
	long := "models=" + strings.Repeat("a", 4<<10)
	numbers := "0"
	for i := range 32 {
		numbers += fmt.Sprintf(",%d", i+1)
	}
	for line, want := range map[string]string{
		"slove":                                  "I do not know the command `slove`. Did you mean `solve`?",
		"fix this":                               "I do not know the command `fix`.",
		"models=a":                               "I do not know the command `models=a`. Did you mean `solve`?",
		"status now":                             "`status` takes no arguments: leave out `now`.",
		"cancel 3":                               "`cancel` takes no arguments: leave out `3`.",
		"retry 3":                                "`retry` takes no arguments: leave out `3`.",
		"why not":                                "`why` takes no arguments: leave out `not`.",
		"pick":                                   "`pick` needs the number of a run: write it as `/yudai pick 3`.",
		"pick run 3":                             "`run` is not the number of a run: write it as `/yudai pick 3`.",
		"pick 0":                                 "`0` is not the number of a run: write it as `/yudai pick 3`.",
		"pick -1":                                "`-1` is not the number of a run: write it as `/yudai pick 3`.",
		"pick 1 2":                               "`pick` takes the number of one run; leave out `2`: write it as `/yudai pick 3`.",
		"revise":                                 "`revise` needs to know what to change: write it as `/yudai revise keep the old name`, with as many lines as you like.",
		"revise \n> quoted\n<!-- hidden -->\n ":  "`revise` needs to know what to change: write it as `/yudai revise keep the old name`, with as many lines as you like.",
		"revise x\n" + strings.Repeat("y", 5000): "The command is 5002 bytes long; the limit is 4096.",
		"revise x\n/yudai cancel":                "This comment holds 2 commands: please send one command per comment.",
		"retyr":                                  "I do not know the command `retyr`. Did you mean `retry`?",
		"pcik 3":                                 "I do not know the command `pcik`. Did you mean `pick`?",
		"revize it":                              "I do not know the command `revize`. Did you mean `revise`?",
		"solve profile=cheep":                    "`cheep` is not one of the configured profiles. Did you mean `cheap`?",
		"solve stop=first-green":                 "`first-green` is no stop rule: it takes all, first_green or waves. Did you mean `first_green`?",
		"solve stop=never":                       "`never` is no stop rule: it takes all, first_green or waves.",
		"solve stop=":                            "`stop` has no value; write it as `stop=first_green`.",
		"solve sandbox=dokcer":                   "`dokcer` is not a sandbox that is offered here (local, docker).",
		"solve sandbox=local,docker":             "`local,docker` is not a sandbox that is offered here (local, docker).",
		"solve sandbox=":                         "`sandbox` has no value; write it as `sandbox=docker`.",
		"solve sandboxes=docker":                 "I do not know the argument `sandboxes`. Did you mean `sandbox`?",
		"solve profile=cheap,thorough":           "`cheap,thorough` is not one of the configured profiles (cheap, thorough).",
		"solve profiles=cheap":                   "I do not know the argument `profiles`. Did you mean `profile`?",
		"solve profile=":                         "`profile` has no value; write it as `profile=cheap`.",
		"solve model=gpt-5-mini":                 "I do not know the argument `model`. Did you mean `models`?",
		"solve please":                           "I do not know the argument `please`.",
		"solve models = gpt-5-mini":              "`models` has no value; write it as `models=a,b`.",
		"solve temps=":                           "`temps` has no value; write it as `temps=0.2,0.8`.",
		`solve base=""`:                          "`base` has no value; write it as `base=main`.",
		"solve repeat=2 repeat=3":                "`repeat` is given twice: give it once, with commas between its values.",
		"solve models=gpt-5-mni":                 "`gpt-5-mni` is not one of the configured models. Did you mean `gpt-5-mini`?",
		"solve models=GPT-5-mini":                "`GPT-5-mini` is not one of the configured models. Did you mean `gpt-5-mini`?",
		"solve models=xyz":                       "`xyz` is not one of the configured models (gpt-5-mini, claude-haiku-4-5, my model).",
		"solve models=gpt-5-mini,,my":            "`gpt-5-mini,,my` is not a value for `models`, which takes names between its commas.",
		"solve models=gpt-5-mini,":               "`gpt-5-mini,` is not a value for `models`, which takes names between its commas.",
		"solve models=gpt-5-mini,gpt-5-mini":     "`gpt-5-mini` is in `models` twice; use `repeat` to run every experiment again.",
		"solve strategies=tests-first":           "`tests-first` is not one of the configured strategies. Did you mean `test-first`?",
		"solve agents=maxi":                      "`maxi` is not one of the configured agents (mini).",
		"solve temps=2.1":                        "`2.1` is not a temperature: they go from 0 to 2.",
		"solve temps=-1":                         "`-1` is not a value for `temps`, which takes numbers like 0.2, with commas between them.",
		"solve temps=NaN":                        "`NaN` is not a value for `temps`, which takes numbers like 0.2, with commas between them.",
		"solve temps=1e1":                        "`1e1` is not a value for `temps`, which takes numbers like 0.2, with commas between them.",
		"solve temps=0.5,.50":                    "`0.5` is in `temps` twice; use `repeat` to run every experiment again.",
		"solve edits=1001":                       "`1001` is out of range: it goes from 0 to 1000.",
		"solve edits=1.5":                        "`1.5` is not a value for `edits`, which takes whole numbers, with commas between them; 0 is no limit.",
		"solve edits=" + numbers:                 "`32` is one value too many: `edits` takes 32.",
		"solve repeat=21":                        "`21` is out of range: it goes from 1 to 20.",
		"solve repeat=0":                         "`0` is not a value for `repeat`, which takes one whole number above 0.",
		"solve parallel=65":                      "`65` is out of range: it goes from 1 to 64.",
		"solve parallel=2,3":                     "`2,3` is not a value for `parallel`, which takes one whole number above 0.",
		"solve budget=cheap":                     "`cheap` is not a value for `budget`, which takes money (`$5`, `0.50`), time (`20m`, `1h30m`), or one of each with a comma between them.",
		"solve budget=0":                         "`0` is not a value for `budget`, which takes money (`$5`, `0.50`), time (`20m`, `1h30m`), or one of each with a comma between them.",
		"solve budget=5,6":                       "`6` is not a value for `budget`, which takes money (`$5`, `0.50`), time (`20m`, `1h30m`), or one of each with a comma between them.",
		"solve budget=0.0000001":                 "`0.0000001` is not a value for `budget`, which takes money (`$5`, `0.50`), time (`20m`, `1h30m`), or one of each with a comma between them.",
		"solve budget=1001":                      "`$1001.00` is too much: a budget goes up to $1000.",
		"solve budget=30s":                       "`30s` is out of range: the time goes from 1m to 24h.",
		"solve budget=25h":                       "`25h0m0s` is out of range: the time goes from 1m to 24h.",
		"solve temps=1e308":                      "`1e308` is not a value for `temps`, which takes numbers like 0.2, with commas between them.",
		"solve temps=inf":                        "`inf` is not a value for `temps`, which takes numbers like 0.2, with commas between them.",
		"solve temps=" + strings.Repeat("9", 21): "`999999999999999999999` is not a value for `temps`, which takes numbers like 0.2, with commas between them.",
		"solve edits=-1":                         "`-1` is not a value for `edits`, which takes whole numbers, with commas between them; 0 is no limit.",
		"solve max_edits=0":                      "I do not know the argument `max_edits`. Did you mean `edits`?",
		"solve models=":                          "`models` has no value; write it as `models=a,b`.",
		"solve models=,,,":                       "`,,,` is not a value for `models`, which takes names between its commas.",
		"solve edits=0" + strings.Repeat(",0", 2000):        "`0` is in `edits` twice; use `repeat` to run every experiment again.",
		"solve edits=" + strings.Repeat("1,", 10_000) + "1": "The command is 20013 bytes long; the limit is 4096.",
		"solve budget=$0":                          "`$0` is not a value for `budget`, which takes money (`$5`, `0.50`), time (`20m`, `1h30m`), or one of each with a comma between them.",
		"solve budget=$-1":                         "`$-1` is not a value for `budget`, which takes money (`$5`, `0.50`), time (`20m`, `1h30m`), or one of each with a comma between them.",
		"solve budget=1e99":                        "`1e99` is not a value for `budget`, which takes money (`$5`, `0.50`), time (`20m`, `1h30m`), or one of each with a comma between them.",
		"solve base=--upload-pack=x":               "`--upload-pack=x` is not a branch name.",
		"solve base=..":                            "`..` is not a branch name.",
		"solve base=-x":                            "`-x` is not a branch name.",
		"solve base=a..b":                          "`a..b` is not a branch name.",
		"solve base=a.lock":                        "`a.lock` is not a branch name.",
		"solve base=refs/heads/main":               "`refs/heads/main` is not a branch name.",
		`solve base="a b"`:                         "`a b` is not a branch name.",
		`solve models="gpt-5-mini`:                 "A double quote is not closed.",
		"solve" + many:                             "There are 33 arguments; the limit is 32.",
		"solve " + long:                            "The command is 4109 bytes long; the limit is 4096.",
		"status\n/yudai cancel":                    "This comment holds 2 commands: please send one command per comment.",
		"`@kim`\x07 #1":                            "I do not know the command `'@kim' `.",
		"solve models=" + strings.Repeat("é", 100): "`" + strings.Repeat("é", 59) + "…` is not one of the configured models (gpt-5-mini, claude-haiku-4-5, my model).",
	} {
		t.Run(line[:min(len(line), 40)], func(t *testing.T) {
			t.Parallel()
			cmd, ok := handlers.ParseComment("/yudai "+line, vocabulary())
			if !ok {
				t.Fatal("no command found")
			}
			if diff := cmp.Diff(handlers.ParsedCommand{Problem: want}, cmd); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseCommentWithoutVocabulary(t *testing.T) {
	t.Parallel()
	cmd, _ := handlers.ParseComment("/yudai solve agents=mini", handlers.Vocabulary{})
	if want := "`mini` cannot be used: no agent is configured."; cmd.Problem != want {
		t.Errorf("got %q, want %q", cmd.Problem, want)
	}
}

// The text of a revision is what people see of the comment below and beside the
// command: code is part of it, hidden text and other people's words are not.
func TestParseCommentReadsTheRevision(t *testing.T) {
	t.Parallel()
	const fence = "```"
	for body, want := range map[string]string{
		"/yudai revise it's 5\" wide":                           "it's 5\" wide",
		"Nice.\n\n/yudai revise  use x=1, y=2 \t":               "use x=1, y=2",
		"/yudai revise\n\n\n- one\n\n\n\n- two  \n\n":           "- one\n\n- two",
		"/yudai revise a\r\n> b\r\nc<!-- d -->\r\n<!--\n\ne-->": "a\nc",
		"/yudai revise like\n" + fence + "go\n/yudai\n" + fence: "like\n" + fence + "go\n/yudai\n" + fence,
		"/yudai revise help people find it":                     "help people find it",
		"/yudai revise a\n    /yudai cancel":                    "a\n    /yudai cancel",
		"/yudai revise \xff":                                    "\uFFFD",
	} {
		cmd, ok := handlers.ParseComment(body, vocabulary())
		if diff := cmp.Diff(handlers.ParsedCommand{Kind: solve.CommandRevise, Text: want}, cmd); !ok || diff != "" {
			t.Errorf("%q: %s", body, diff)
		}
	}
}

func TestParseBudget(t *testing.T) {
	t.Parallel()
	m, d, err := handlers.ParseBudget("$2, 20m")
	if m != 2_000_000 || d != 20*time.Minute || err != nil {
		t.Errorf("got %d, %s, %v", m, d, err)
	}
	for value, want := range map[string]string{
		"": `"" is not a budget`, "x": `"x" is not a budget: write money ($5, 0.50)`, "5,": `"5," is not a budget`,
		"2000,5s": "$2000.00 is too much: a budget goes up to $1000\n5s is out of range",
	} {
		if _, _, err := handlers.ParseBudget(value); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", value, err)
		}
	}
}
