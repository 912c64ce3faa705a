package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// request asks the program something; the answer's headers follow its body.
type request func(ctx context.Context, method, path string, header map[string]string, body string) (status int, text string, err error)

var listedSolve = regexp.MustCompile(`"solve_id": ?"([0-9a-v]{20})"`)

// shown is what the API and the pages show to the operator, by where it is. Problems are what could not be seen.
func (ask request) shown(ctx context.Context, token string) (texts map[string]string, solves, problems []string) {
	texts = map[string]string{}
	see := func(method, path string, header map[string]string, body string, want ...int) string {
		status, text, err := ask(ctx, method, path, header, body)
		if err != nil || !slices.Contains(want, status) {
			problems = append(problems, fmt.Sprintf("%s %s cannot be read: %d %v", method, path, status, err))
		}
		texts[method+" "+path] = text
		return text
	}
	bearer := map[string]string{"Authorization": "Bearer " + token}
	for _, found := range listedSolve.FindAllStringSubmatch(see("GET", "/solve?limit=100", bearer, "", http.StatusOK), -1) {
		solves = append(solves, found[1])
	}
	some := solves[:min(3, len(solves))]
	missing := []int{http.StatusOK, http.StatusNotFound} // a solve may have no patch or bundle
	for _, id := range some {
		see("GET", "/solve/"+id+"/status", bearer, "", http.StatusOK)
		see("GET", "/solve/"+id+"/record", bearer, "", missing...)
		for _, part := range []string{"bundle", "events", "runs/1/patch", "runs/1/log", "runs/1/log?log=tests", "runs/2/patch", "runs/2/log"} {
			see("GET", "/solve/"+id+"/"+part, bearer, "", append(missing, http.StatusConflict, http.StatusUnprocessableEntity)...)
		}
	}
	signed := see("POST", "/login", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, "token="+token, http.StatusSeeOther)
	cookie := regexp.MustCompile(`(?m)^Set-Cookie: ([^;\r\n]+)`).FindStringSubmatch(signed)
	if cookie == nil {
		return texts, solves, append(problems, "signing in to the pages gave no cookie")
	}
	session := map[string]string{"Cookie": cookie[1]}
	for _, path := range []string{"/", "/repositories", "/sessions"} {
		see("GET", path, session, "", http.StatusOK)
	}
	for _, id := range some {
		see("GET", "/solves/"+id, session, "", http.StatusOK)
		for _, part := range []string{"bundle", "compare", "runs/1", "runs/2"} {
			see("GET", "/solves/"+id+"/"+part, session, "", append(missing, http.StatusBadRequest)...)
		}
	}
	return texts, solves, problems
}

// waysOut looks into what the program shows to those who have its token: by the API, on the pages and on the command line.
func (w *world) waysOut(ctx context.Context, look func(string, []byte, ...string)) []string {
	texts, solves, problems := request(w.request).shown(ctx, w.canaries["API token"])
	for where, text := range texts {
		look(where, []byte(text), allowedToShow()...)
	}
	commands := [][]string{{"runs"}, {"models"}, {"doctor"}}
	if len(solves) > 0 {
		for _, name := range []string{"status", "show", "logs", "diff"} {
			commands = append(commands, []string{name, solves[0]})
		}
	}
	for _, args := range commands {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		cmd := exec.CommandContext(ctx, w.binary, append(args, "--config", w.path("config.yml"))...)
		cmd.Env = append(os.Environ(), append(w.environment(), "YUDAI_URL="+w.proc.Address(), "HOME="+w.path("scripts"))...)
		out, err := cmd.CombinedOutput() // doctor fails where something is missing, and logs where a run had none
		cancel()
		if len(out) == 0 || args[0] == "runs" && err != nil {
			problems = append(problems, fmt.Sprintf("yudai %s cannot be run: %v %s", args[0], err, last(string(out))))
		}
		look("what yudai "+args[0]+" prints", out, allowedToShow()...)
	}
	return append(problems, w.stored(ctx, look)...)
}

// allowedToShow are the canaries that who has the token may see: those of repositories.
func allowedToShow() []string { return []string{"other repository", "patch of another run"} }

// stored looks into all tables of the database, if there is one.
func (w *world) stored(ctx context.Context, look func(string, []byte, ...string)) (problems []string) {
	if w.database == nil {
		return nil
	}
	db, err := pgx.Connect(ctx, w.database.DSN("public"))
	if err != nil {
		return []string{"the database cannot be searched: " + err.Error()}
	}
	defer func() { _ = db.Close(ctx) }()
	rows, err := db.Query(ctx, "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname not in ('pg_catalog', 'information_schema')")
	if err != nil {
		return []string{"the database cannot be searched: " + err.Error()}
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) == 0 {
		return []string{fmt.Sprintf("the database cannot be searched: %v, %d tables", err, len(tables))}
	}
	for _, table := range tables {
		var rows bytes.Buffer
		if _, err := db.PgConn().CopyTo(ctx, &rows, "copy "+table+" to stdout"); err != nil {
			problems = append(problems, "table "+table+" cannot be searched: "+err.Error())
		}
		look("table "+table, rows.Bytes(), allowedToShow()...)
	}
	return problems
}

// noted names the canaries that questions to models held.
func (p *provider) noted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for what := range p.leaked {
		all = append(all, "a question to model "+strings.ReplaceAll(what, "\x00", " holds the "))
	}
	return all
}
