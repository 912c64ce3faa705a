// Package ghapp is yudai's side of GitHub: it signs in as the App, reads what
// the solver must know, and makes every visible write.
//
// [App] holds the clients. The token of each opens one repository with the
// permissions that it needs. Tokens for cloning are separate, read-only and
// revoked after use. Every form of rate limit becomes a [LimitError].
//
// [Writer] turns the store's effects into comments, reactions, check runs,
// branches and pull requests. It makes one write at a time per installation and
// sends only the newest text. It records an effect before the call. After an
// unknown outcome it looks on GitHub before it repeats the call, so that a crash,
// a cut connection or a second writer makes nothing twice.
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
