package api

// SolveStatus, SolveList, ListedSolve and SolveAccepted are what GET /solve/{id}/status, GET /solve and POST /solve answer, for clients.
type (
	SolveStatus   = solveStatus
	SolveList     = solveList
	ListedSolve   = listedSolve
	SolveAccepted = solveAccepted
)
