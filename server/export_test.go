package server

import "github.com/yudai-dev/yudai/ghapp"

// HubOf is the Hub that the program uses.
func HubOf(app *ghapp.App) Hub { return apiHub{app} }

// TokenSetting is the text that names where the API's token is configured.
func TokenSetting(l Listen) string { return l.tokenSetting() }
