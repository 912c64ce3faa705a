package solve

// Person is somebody's account on GitHub. Names change and change hands; the number stays.
type Person struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
}

// Access is what a person may do in a repository; the zero value is nothing.
type Access struct{ Reads, Writes bool }
