package judge

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/yudai-dev/yudai/sandbox"
)

// jestReport is what of the file of "jest --json" matters here.
type jestReport struct {
	TestResults []struct {
		Name             string
		Status           string
		AssertionResults []struct {
			FullName, Title, Status string
			AncestorTitles          []string
		}
	}
}

// jestFile reads the results of jest: a test is its file with the titles that
// lead to it. A file that cannot be loaded has no tests and the mark "[collect]".
func (r *Report) jestFile(data io.Reader) error {
	var j jestReport
	if err := json.NewDecoder(io.LimitReader(data, maxJest)).Decode(&j); err != nil {
		return fmt.Errorf("jest file: %w", err)
	}
	for _, f := range j.TestResults {
		file := strings.TrimPrefix(path.Clean(f.Name), sandbox.RepoDir+"/")
		if len(f.AssertionResults) == 0 && f.Status == "failed" {
			r.add(clip(file)+markCollect, Fail)
		}
		for _, a := range f.AssertionResults {
			title := strings.Join(append(append([]string{}, a.AncestorTitles...), a.Title), " > ")
			r.add(clip(file+"."+title), jestStatus(a.Status))
		}
		if len(r.Tests) > maxTests {
			return errTooMany
		}
	}
	return nil
}

// maxJest is how much of a jest file is read, in bytes: it is read at once.
const maxJest = 32 << 20

func jestStatus(s string) Status {
	switch s {
	case "passed":
		return Pass
	case "failed":
		return Fail
	}
	return Skip // pending, todo, skipped, disabled
}
