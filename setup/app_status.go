package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yudai-dev/yudai/ghapp"
)

// appFindings compares what GitHub has of the App with what yudai needs. The set-up's last
// page and the doctor share it; each looks at deliveries in its own way. A question that
// GitHub does not answer is the last.
func appFindings(
	ctx context.Context, app *ghapp.App, publicURL string, unknown func(what string, err error) Finding, deliveries func() Finding,
) []Finding {
	now, err := app.Status(ctx)
	if err != nil {
		return []Finding{unknown("rights", err)}
	}
	found := append(rightsOf(now), installsOf(now)...)
	has, err := app.HookURL(ctx)
	if err != nil {
		return append(found, unknown("webhook", err))
	}
	return append(found, hookOf(has, publicURL), deliveries())
}

// rightsOf compares what the App may and hears with the manifest.
func rightsOf(now ghapp.AppStatus) []Finding {
	want := NewManifest("")
	where := "on GitHub, open the App's settings, Permissions & events, "
	var found []Finding
	if lacks := lacking(now.Permissions, want.Permissions); len(lacks) > 0 {
		found = append(found, Finding{Bad, "rights", "the App does not ask for " + strings.Join(lacks, ", "), where + "set them, and save"})
	}
	var deaf []string
	for _, event := range want.Events {
		if !slices.Contains(now.Events, event) {
			deaf = append(deaf, event)
		}
	}
	if len(deaf) > 0 {
		found = append(found, Finding{Bad, "events", "the App does not get the events " + strings.Join(deaf, ", "),
			where + "tick them, and save"})
	}
	if len(found) == 0 {
		found = []Finding{{Good, "rights", fmt.Sprintf("all %d permissions and %d events of the manifest",
			len(want.Permissions), len(want.Events)), ""}}
	}
	return found
}

// lacking names the permissions that are missing or too low, "issues: write".
func lacking(have, want map[string]string) []string {
	order := []string{"", "read", "write", "admin"}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if slices.Index(order, have[name]) < slices.Index(order, want[name]) {
			out = append(out, name+": "+want[name])
		}
	}
	return out
}

// installsOf says where the App is installed, and which account has not granted everything.
func installsOf(now ghapp.AppStatus) []Finding {
	if len(now.Installations) == 0 {
		return []Finding{{Bad, "installed", "on no account yet", "install it: " + now.HTMLURL + "/installations/new"}}
	}
	var names []string
	var found []Finding
	for _, in := range now.Installations {
		names = append(names, in.Account)
		if in.Suspended {
			found = append(found, Finding{Warn, "installed", in.Account + " has the App suspended",
				"an owner of " + in.Account + " can let it go on, in the account's settings"})
			continue
		}
		if lacks := lacking(in.Permissions, NewManifest("").Permissions); len(lacks) > 0 {
			found = append(found, Finding{
				Bad, "installed", in.Account + " has not granted " + strings.Join(lacks, ", "),
				"an owner of " + in.Account + " accepts the new permissions in the account's settings, Applications",
			})
		}
	}
	shown := strings.Join(names[:min(len(names), 5)], ", ")
	if more := len(names) - 5; more > 0 {
		shown += fmt.Sprintf(" and %d more", more)
	}
	return append([]Finding{{Good, "installed", "on " + shown, ""}}, found...)
}

// hookOf compares where GitHub sends webhooks with where this server is reached.
func hookOf(has, publicURL string) Finding {
	want := hookURL(publicURL)
	switch {
	case publicURL == "" && strings.HasSuffix(has, hookURL("")):
		return Finding{Warn, "webhook", "GitHub sends it to " + has, "set server.public_url, so that this can be compared"}
	case publicURL == "":
		want = "https://YOUR-HOST" + hookURL("")
	case has == want:
		return Finding{Good, "webhook", "GitHub sends it to " + has, ""}
	}
	return Finding{Bad, "webhook", fmt.Sprintf("GitHub sends it to %s, not to %s", has, want),
		"set the Webhook URL in the App's settings on GitHub to " + want}
}

// deliveriesOf says whether the newest webhooks reached a server.
func deliveriesOf(all []ghapp.HookDelivery) Finding {
	if len(all) == 0 {
		return Finding{Warn, "deliveries", "GitHub has sent no webhook in the last days",
			"comment `/yudai help` on an issue, then look again"}
	}
	failed := 0
	for _, a := range all {
		if !a.OK() {
			failed++
		}
	}
	if newest := all[0]; !newest.OK() {
		return Finding{Bad, "deliveries", fmt.Sprintf("GitHub could not deliver the newest webhook (%s at %s): %s; %d of the last %d failed",
			newest.Event, newest.At.UTC().Format("2 Jan 15:04 MST"), answerOf(newest), failed, len(all)), fixOf(newest)}
	}
	if failed > 0 {
		return Finding{Warn, "deliveries", fmt.Sprintf("the newest webhook arrived; %d of the last %d failed", failed, len(all)),
			"send the failed ones again from the App's settings, Advanced"}
	}
	return Finding{Good, "deliveries", fmt.Sprintf("the last %d arrived", len(all)), ""}
}

// answerOf is what GitHub got for a webhook.
func answerOf(a ghapp.HookDelivery) string {
	if a.Code == 0 {
		return a.Status
	}
	return fmt.Sprintf("%d %s", a.Code, a.Status)
}

// fixOf says what to do about a webhook that failed.
func fixOf(a ghapp.HookDelivery) string {
	switch {
	case a.Code == 400:
		return "the secret does not fit: set the webhook's secret in the App's settings to the one that yudai reads"
	case a.Code == 404 || a.Code == 405:
		return "something else answers there: let the proxy pass " + hookURL("") + " to yudai"
	case a.Code >= 500 && a.Code != 502 && a.Code != 504 || a.Code == 503:
		return "yudai answered, but could not store it: look into its log"
	}
	return "let the public URL lead to this server from where GitHub is: DNS, firewall, proxy, certificate"
}
