package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// SolveStatus, SolveList, ListedSolve and SolveAccepted are what GET /solve/{id}/status, GET /solve and POST /solve answer, for clients.
type (
	SolveStatus   = solveStatus
	SolveList     = solveList
	ListedSolve   = listedSolve
	SolveAccepted = solveAccepted
)

// StartSchema is the JSON schema of the body of POST /solve, without references.
func StartSchema() *huma.Schema {
	all := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	s := all.Schema(reflect.TypeFor[solveRequest](), false, "")
	for name, p := range s.Properties {
		if p.Ref != "" {
			whole := *all.SchemaFromRef(p.Ref)
			whole.Description, s.Properties[name] = p.Description, &whole
		}
	}
	return s
}
