package swerex

// LimitOutput sets how much of a command's output an endpoint keeps.
func LimitOutput(s *Server, most int64) { s.output = most }
