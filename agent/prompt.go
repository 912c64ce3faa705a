package agent

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"strings"
	"text/template"
	"time"
)

//go:embed prompts/*.tmpl
var promptFiles embed.FS

// prompts are the opening messages of a run.
var prompts = template.Must(template.New("").Option("missingkey=error").ParseFS(promptFiles, "prompts/*.tmpl"))

// promptData is what the templates may say. Foreign text is only ever a value,
// so nothing in it is evaluated.
type promptData struct {
	Mode, Fence, Tool, Submit string
	Task, Marker              string
	Strategy, TestCommand     string
	Reproduce                 bool
	MaxEdits, WholeOutput     int
	CommandTime               time.Duration
}

func renderPrompt(name, mode string, j Job) (string, error) {
	var b strings.Builder
	err := prompts.ExecuteTemplate(&b, name, promptData{
		Mode: mode, Fence: fence, Tool: ToolName, Submit: SubmitMarker,
		Task: j.Task, Marker: marker(j.Task),
		Strategy: strings.TrimSpace(j.Strategy), TestCommand: j.TestCommand,
		Reproduce: j.Reproduce, MaxEdits: j.MaxEdits, WholeOutput: wholeOutput, CommandTime: j.Limits.CommandTime,
	})
	if err != nil {
		return "", fmt.Errorf("render prompt %s: %w", name, err)
	}
	return strings.TrimSpace(b.String()), nil
}

// marker frames the foreign text. It is made from that text's own hash, so the
// text cannot hold its marker and cannot end the frame early.
func marker(task string) string {
	sum := sha256.Sum256([]byte(task))
	return "==== issue " + hex.EncodeToString(sum[:8]) + " ===="
}
