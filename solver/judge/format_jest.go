package judge

import (
	"cmp"
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
			title := strings.Join(append(a.AncestorTitles, a.Title), " > ")
			r.add(clip(file+"."+title), cmp.Or(jestStatus[a.Status], Skip))
		}
	}
	return nil
}

// maxJest is how much of a jest file is read, in bytes: it is read at once.
const maxJest = 32 << 20

// jestStatus has the words for a test that ran. Others are pending, todo, skipped and disabled.
var jestStatus = map[string]Status{"passed": Pass, "failed": Fail}
