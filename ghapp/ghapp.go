// Package ghapp is yudai's side of GitHub: it signs in as the App, reads what
// the solver must know, and makes every visible write.
//
// [App] holds the clients. Each is narrowed to one repository and the rights it
// needs, so that a leaked token opens as little as possible; tokens for cloning
// are separate, read-only and revoked after use. Every limit GitHub answers
// with, in any of its forms, becomes one error with a time to come back.
//
// [Writer] turns the store's effects into comments, reactions, check runs,
// branches and pull requests: one at a time per installation, paced, the newest
// text only. An effect is recorded before the call, and after an unknown
// outcome it is looked up before it is repeated, so that a crash, a cut
// connection or a second writer does not double what people see.
package ghapp

import (
	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"
)

// Both libraries must be built on the same go-github; another pair compiles
// until somebody narrows a token. This line stops such an upgrade.
var _ *github.InstallationTokenOptions = ghinstallation.Transport{}.InstallationTokenOptions

// userAgent names us to GitHub, which asks every client for a name.
const userAgent = "yudai"
