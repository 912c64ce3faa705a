package api

// SolveStatus, SolveList and ListedSolve are what GET /solve/{id}/status and GET /solve answer, for clients.
type (
	SolveStatus = solveStatus
	SolveList   = solveList
	ListedSolve = listedSolve
)
