package fakesandbox

import "github.com/yudai-dev/yudai/sandbox"

// Only is one driver as all drivers of a process.
type Only struct{ Driver sandbox.Driver }

// Of is the driver if a solve names it, or none.
func (o Only) Of(name string) (sandbox.Driver, bool) {
	return o.Driver, name == "" || name == o.Driver.Traits().Name
}

// Names holds the one name.
func (o Only) Names() []string { return []string{o.Driver.Traits().Name} }

// All holds the one driver.
func (o Only) All() []sandbox.Driver { return []sandbox.Driver{o.Driver} }
