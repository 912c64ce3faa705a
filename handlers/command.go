package handlers

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/yudai-dev/yudai/internal/spelling"
	"github.com/yudai-dev/yudai/solve"
)

// maxArguments is how many arguments a command may have.
const maxArguments = 32

// CommandSolve asks for a solve, which is stored as one and not as a command.
const CommandSolve solve.CommandKind = "solve"

// verbs in the order of the usage text.
func verbs() []string {
	return []string{"solve", "status", "cancel", "retry", "pick", "why", "revise", "help"}
}

// ParsedCommand is what a comment asks for. If Problem is set, nothing may be done and the
// sentence is the answer; the other fields are then empty.
type ParsedCommand struct {
	Kind    solve.CommandKind
	Request solve.Request // of CommandSolve
	N       int           // of CommandPick: a run's number
	Text    string        // of CommandRevise: what to change, as the person wrote it
	Problem string        // Markdown, one line, foreign text in code spans only
}

// ParseComment finds the command in a comment and reads it; ok is false if there is
// none. A command is a line that starts with "/yudai" and is not in a code fence, a
// quote or an HTML comment. "@yudai solve", or the App's own name in the vocabulary, is a solve, too:
//
//	command  = "/yudai" [ solve | pick | revise | question ]      none is help
//	solve    = "solve" { key "=" value { "," value } }
//	pick     = "pick" number                                  of a run
//	revise   = "revise" text
//	question = "status" | "cancel" | "retry" | "why" | "help"
//	key      = "models" | "temps" | "edits" | "strategies" | "agents" | "repeat" |
//	           "parallel" | "budget" | "base" | "profile" | "sandbox" | "stop" | "reproduce"
//
// Verbs and keys may be in any case. Values with blanks stand in double quotes. The
// text of a revision is the rest of its line and all that is written below it, code
// included, but no quotes and no HTML comments. Nothing is guessed: a word that is not
// known, a value out of range, or a second command makes a ParsedCommand with a Problem.
// It never panics, whatever the bytes.
func ParseComment(body string, v Vocabulary) (cmd ParsedCommand, ok bool) {
	list := commands(body, v.Name)
	if len(list) == 0 {
		return ParsedCommand{}, false
	}
	cmd, problem := parse(list[0], v)
	if len(list) > 1 {
		problem = fmt.Sprintf("This comment holds %d commands: please send one command per comment.", len(list))
	}
	if problem != "" {
		return ParsedCommand{Problem: problem}, true
	}
	return cmd, true
}

// parse reads what follows the command word. problem is "" if all is well.
func parse(f found, v Vocabulary) (cmd ParsedCommand, problem string) {
	if len(f.line) > maxCommand {
		return ParsedCommand{}, tooLong(len(f.line))
	}
	if first, rest := firstWord(f.line); strings.EqualFold(first, string(solve.CommandRevise)) {
		return parseRevise(rest, f.more)
	}
	list, closed := words(strings.ToValidUTF8(f.line, "\uFFFD"))
	if !closed {
		return ParsedCommand{}, "A double quote is not closed."
	}
	if len(list) == 0 || isHelp(list[0]) || (len(list) > 1 && isHelp(list[1])) {
		return ParsedCommand{Kind: solve.CommandHelp}, ""
	}
	switch verb := solve.CommandKind(strings.ToLower(list[0])); verb {
	case CommandSolve:
		return parseSolve(list[1:], v)
	case solve.CommandPick:
		return parsePick(list[1:])
	case solve.CommandStatus, solve.CommandCancel, solve.CommandRetry, solve.CommandWhy:
		if len(list) > 1 {
			return ParsedCommand{}, fmt.Sprintf("`%s` takes no arguments: leave out %s.", verb, code(list[1]))
		}
		return ParsedCommand{Kind: verb}, ""
	}
	return ParsedCommand{}, unknownVerb(list[0])
}

func tooLong(n int) string {
	return fmt.Sprintf("The command is %d bytes long; the limit is %d.", n, maxCommand)
}

// firstWord splits a line at its first blank.
func firstWord(line string) (word, rest string) {
	if at := strings.IndexFunc(line, unicode.IsSpace); at >= 0 {
		return line[:at], strings.TrimSpace(line[at:])
	}
	return line, ""
}

func parseSolve(args []string, v Vocabulary) (cmd ParsedCommand, problem string) {
	if len(args) > maxArguments {
		return ParsedCommand{}, fmt.Sprintf("There are %d arguments; the limit is %d.", len(args), maxArguments)
	}
	r, problem := request(arguments(args))
	if problem == "" {
		v.Check(r, func(p Problem) {
			if problem == "" {
				problem = p.Markdown()
			}
		})
	}
	return ParsedCommand{Kind: CommandSolve, Request: r}, problem
}

func parsePick(args []string) (cmd ParsedCommand, problem string) {
	const form = "write it as `/yudai pick 3`."
	if len(args) == 0 {
		return ParsedCommand{}, "`pick` needs the number of a run: " + form
	}
	n, ok := whole(args[0])
	switch {
	case !ok || n == 0:
		return ParsedCommand{}, code(args[0]) + " is not the number of a run: " + form
	case len(args) > 1:
		return ParsedCommand{}, fmt.Sprintf("`pick` takes the number of one run; leave out %s: %s", code(args[1]), form)
	}
	return ParsedCommand{Kind: solve.CommandPick, N: n}, ""
}

func parseRevise(rest string, more []string) (cmd ParsedCommand, problem string) {
	text := joined(append([]string{rest}, more...))
	switch {
	case isHelp(text):
		return ParsedCommand{Kind: solve.CommandHelp}, ""
	case text == "":
		return ParsedCommand{}, "`revise` needs to know what to change: write it as `/yudai revise keep the old name`, " +
			"with as many lines as you like."
	case len(text) > maxCommand:
		return ParsedCommand{}, tooLong(len(text))
	}
	return ParsedCommand{Kind: solve.CommandRevise, Text: text}, ""
}

func isHelp(word string) bool {
	switch strings.ToLower(word) {
	case "help", "-h", "--help", "-help":
		return true
	}
	return false
}

func unknownVerb(word string) string {
	near := spelling.Nearest(word, verbs())
	if strings.Contains(word, "=") {
		near = string(CommandSolve) // an argument without its verb
	}
	return "I do not know the command " + code(word) + "." + didYouMean(near)
}

// request reads the arguments of a solve.
func request(args []argument) (r solve.Request, problem string) {
	keys, seen := argKeys(), map[string]bool{}
	for _, a := range args {
		at := slices.IndexFunc(keys, func(k argKey) bool { return k.name == a.key })
		switch {
		case at < 0:
			return r, "I do not know the argument " + code(a.key) + "." + didYouMean(meant(a.key))
		case seen[a.key]:
			return r, fmt.Sprintf("`%s` is given twice: give it once, with commas between its values.", a.key)
		case strings.TrimSpace(a.value) == "":
			return r, fmt.Sprintf("`%s` has no value; write it as %s.", a.key, code(a.key+"="+keys[at].example))
		}
		seen[a.key] = true
		if bad, wanted := keys[at].read(&r, a.value); wanted != "" {
			return r, fmt.Sprintf("%s is not a value for `%s`, which takes %s.", code(bad), a.key, wanted)
		}
	}
	return r, ""
}

// meant is the key that an unknown one was most likely meant as: a near one, or one
// that it holds, as in max_edits or temperature.
func meant(key string) string {
	if near := spelling.Nearest(key, keyNames()); near != "" {
		return near
	}
	for _, k := range keyNames() {
		if strings.Contains(key, strings.TrimSuffix(k, "s")) {
			return k
		}
	}
	return ""
}

func didYouMean(word string) string {
	if word == "" {
		return ""
	}
	return " Did you mean " + code(word) + "?"
}
