package server

import (
	"context"
	"strings"
	"time"

	"github.com/rs/xid"

	"github.com/yudai-dev/yudai/handlers"
	"github.com/yudai-dev/yudai/solve"
)

// press stores what a button of a page asks for, where the commands of comments are stored, too: the engine answers
// both. problem tells the person what is wrong with the argument; "" is nothing.
func (s *Server) press(
	ctx context.Context, on solve.Solve, who solve.Person, kind solve.CommandKind, argument string,
) (problem string, err error) {
	cmd, problem := pressed(on, who, kind, argument, s.cfg.openVocabulary())
	if problem != "" {
		return problem, nil
	}
	cmd.ID, cmd.At = "page-"+xid.New().String(), time.Now()
	d := solve.Delivery{GUID: cmd.ID, Event: "page", Action: string(kind), Received: cmd.At}
	_, err = s.store.Accept(ctx, d, solve.Intent{Command: &cmd})
	return "", err
}

// pressed is the command of a button. The grammar of comments reads it, so that its limits hold here.
func pressed(on solve.Solve, who solve.Person, kind solve.CommandKind, argument string, words handlers.Vocabulary) (solve.Command, string) {
	text := "/yudai " + string(kind) + " " + strings.TrimSpace(strings.ReplaceAll(argument, "\r\n", "\n"))
	said, ok := handlers.ParseComment(text, words)
	switch {
	case said.Problem != "":
		return solve.Command{}, strings.ReplaceAll(said.Problem, "`", "")
	case !ok || said.Kind != kind:
		return solve.Command{}, "That does not say what to " + string(kind) + "."
	}
	return solve.Command{Kind: kind, Repo: on.Repo, Solve: on.ID, Actor: who.Login, Button: true, N: said.N, Text: said.Text}, ""
}
