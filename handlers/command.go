package handlers

import (
	"fmt"
	"strings"

	"github.com/yudai-dev/yudai/solve"
)

// maxArguments is how many arguments a command may have.
const maxArguments = 32

// Verb is the first word of a command.
type Verb string

// The verbs.
const (
	VerbSolve  Verb = "solve"
	VerbStatus Verb = "status"
	VerbCancel Verb = "cancel"
	VerbHelp   Verb = "help"
)

// Command is what a comment asks for. If Problem is set, nothing may be done and the
// sentence is the answer; the other fields are then empty.
type Command struct {
	Verb    Verb
	Request solve.Request // of VerbSolve
	Problem string        // Markdown, one line, foreign text in code spans only
}

// ParseComment finds the command in a comment and reads it; ok is false if there is
// none. A command is a line that starts with "/yudai" and is not in a code fence, a
// quote or an HTML comment:
//
//	command  = "/yudai" [ verb { key "=" value { "," value } } ]
//	verb     = "solve" | "status" | "cancel" | "help"      in any case; none is help
//	key      = "models" | "temps" | "edits" | "strategies" | "agents" | "repeat" |
//	           "parallel" | "budget" | "base"
//
// Values with blanks stand in double quotes. Nothing is guessed: a word that is not
// known, a value out of range, or a second command makes a Command with a Problem.
// It never panics, whatever the bytes.
func ParseComment(body string, v Vocabulary) (cmd Command, ok bool) {
	lines := commands(body)
	if len(lines) == 0 {
		return Command{}, false
	}
	cmd, problem := parseLine(lines[0], v)
	if len(lines) > 1 {
		problem = fmt.Sprintf("This comment holds %d commands, and I did none of them: please send one command per comment.", len(lines))
	}
	if problem != "" {
		return Command{Problem: problem}, true
	}
	return cmd, true
}

// parseLine reads what follows the command word. problem is "" if all is well.
func parseLine(line string, v Vocabulary) (cmd Command, problem string) {
	if len(line) > maxCommand {
		return Command{}, fmt.Sprintf("The command is %d bytes long; %d is the most I read.", len(line), maxCommand)
	}
	list, closed := words(strings.ToValidUTF8(line, "\uFFFD"))
	if !closed {
		return Command{}, "A double quote is opened and never closed."
	}
	if len(list) == 0 || isHelp(list[0]) || (len(list) > 1 && isHelp(list[1])) {
		return Command{Verb: VerbHelp}, ""
	}
	verb := Verb(strings.ToLower(list[0]))
	switch verb {
	case VerbSolve:
	case VerbStatus, VerbCancel:
		if len(list) > 1 {
			return Command{}, fmt.Sprintf("`%s` takes no arguments, and %s is one.", verb, code(list[1]))
		}
		return Command{Verb: verb}, ""
	default:
		return Command{}, unknownVerb(list[0])
	}
	if len(list)-1 > maxArguments {
		return Command{}, fmt.Sprintf("There are %d arguments; %d are the most I read.", len(list)-1, maxArguments)
	}
	r, problem := request(arguments(list[1:]))
	if problem == "" {
		v.Check(r, func(p Problem) {
			if problem == "" {
				problem = p.Markdown()
			}
		})
	}
	return Command{Verb: VerbSolve, Request: r}, problem
}

func isHelp(word string) bool {
	switch strings.ToLower(word) {
	case "help", "-h", "--help", "-help":
		return true
	}
	return false
}

func unknownVerb(word string) string {
	valid := []string{string(VerbSolve), string(VerbStatus), string(VerbCancel), string(VerbHelp)}
	near := solve.Nearest(word, valid)
	if strings.Contains(word, "=") {
		near = string(VerbSolve) // an argument without its verb
	}
	return "I do not know the command " + code(word) + "." + didYouMean(near)
}

// request reads the arguments of a solve.
func request(args []argument) (r solve.Request, problem string) {
	seen := map[string]bool{}
	for _, a := range args {
		set, known := setters()[a.key]
		switch {
		case !known:
			return r, "I do not know the argument " + code(a.key) + "." + didYouMean(meant(a.key))
		case seen[a.key]:
			return r, fmt.Sprintf("`%s` is given twice; put its values together with commas.", a.key)
		case strings.TrimSpace(a.value) == "":
			return r, fmt.Sprintf("`%s` has no value; write it as %s.", a.key, code(a.key+"="+set.example))
		}
		seen[a.key] = true
		if bad, wanted := set.read(&r, a.value); wanted != "" {
			return r, fmt.Sprintf("%s is no value for `%s`: it takes %s.", code(bad), a.key, wanted)
		}
	}
	return r, ""
}

// meant is the key that an unknown one was most likely meant as: a near one, or one
// that it holds, as in max_edits or temperature.
func meant(key string) string {
	if near := solve.Nearest(key, keys()); near != "" {
		return near
	}
	for _, k := range keys() {
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
