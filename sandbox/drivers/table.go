package drivers

import (
	"fmt"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// Table compares drivers by what they say of themselves, in Markdown: the table of
// docs/drivers.md.
func Table(all []sandbox.Traits) string {
	var b strings.Builder
	b.WriteString("| Driver | Isolation | Fork of a prepared base | Network | Agents inside | After a crash of yudai | Limits | Start | Cost of an hour |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, t := range all {
		attach := "its runs begin again"
		if t.Attach {
			attach = "its runs go on"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n",
			t.Name, t.Isolation, fork(t), network(t), agents(t), attach, t.Limits, t.Start, t.Cost)
	}
	return b.String()
}

func fork(t sandbox.Traits) string {
	if !t.Fork {
		return "no: every sandbox is prepared by itself"
	}
	return t.ForkHow
}

func network(t sandbox.Traits) string {
	switch {
	case !t.Network:
		return "off"
	case t.Proxy:
		return "off; while preparing, an allow-list through a proxy on yudai's machine"
	default:
		return "off; while preparing, an allow-list that the provider enforces"
	}
}

// agents tells whether agents can live in sandboxes, and how they reach the gateway.
func agents(t sandbox.Traits) string {
	switch {
	case !t.Launch:
		return "no"
	case t.Socket:
		return "reach the gateway by a socket, and nothing else"
	default:
		return "reach the gateway by its public address, `server.public_url`, and nothing else"
	}
}
