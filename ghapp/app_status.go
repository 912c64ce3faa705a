package ghapp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/go-github/v66/github"
)

// AppStatus is how the App is registered and where it is installed, as GitHub has it now.
type AppStatus struct {
	Name, HTMLURL string
	// Permissions are levels by name, "issues": "write".
	Permissions   map[string]string
	Events        []string
	Installations []InstallationStatus
}

// InstallationStatus is one installation: an account that let the App in.
type InstallationStatus struct {
	Account     string
	Suspended   bool
	Permissions map[string]string
}

// Status asks GitHub, each time.
func (a *App) Status(ctx context.Context) (AppStatus, error) {
	app, err := a.registered(ctx)
	if err != nil {
		return AppStatus{}, err
	}
	found, err := a.installations(ctx)
	if err != nil {
		return AppStatus{}, err
	}
	s := AppStatus{Name: app.GetName(), HTMLURL: app.GetHTMLURL(), Events: app.Events}
	if s.Permissions, err = levels(app.GetPermissions()); err != nil {
		return AppStatus{}, err
	}
	for _, in := range found {
		one := InstallationStatus{Account: in.GetAccount().GetLogin(), Suspended: in.SuspendedAt != nil}
		if one.Permissions, err = levels(in.GetPermissions()); err != nil {
			return AppStatus{}, err
		}
		s.Installations = append(s.Installations, one)
	}
	return s, nil
}

// levels are the permissions by the names that manifests use.
func levels(p *github.InstallationPermissions) (map[string]string, error) {
	out := map[string]string{}
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("read permissions: %w", err)
	}
	return out, nil
}
