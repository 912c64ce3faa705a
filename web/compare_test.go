package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/yudai-dev/yudai/agent"
)

// did adds steps to the transcript of a run of the decided solve.
func (w *world) did(run int, commands ...string) {
	for i, command := range commands {
		for _, m := range turn(20+i, "", command, "", 0) {
			w.store.files[fmt.Sprintf("%s/transcript-%d", decided, run)] += agent.JSON(m) + "\n"
		}
	}
	w.store.runs[decided][run-1].Progress.Steps += len(commands)
}

// TestCompare: the steps of runs stand in columns in the order that was asked for, and where they first differ is said.
func TestCompare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.did(1, "sed -n 1,9p compare.go")
	w.did(2, "vi compare.go", "go vet ./...")
	path := "/solves/" + decided + "/compare"
	page := w.get(path + "?runs=2,1")
	order := []string{"Run 2</a> sprawling", "Run 1</a> careful", "grep -n Compare *.go", ">from here they differ<", "vi compare.go", "sed -n 1,9p", "go vet", "– no such step"}
	at := -1
	for _, words := range order {
		next := strings.Index(page, words)
		if next < at || next < 0 {
			t.Errorf("%q stands at %d, what is before it at %d", words, next, at)
		}
		at = next
	}
	if n := strings.Count(page, "from here they differ"); n != 1 || !strings.Contains(page, `<tr class="parts"><th scope="row" class="num">3<`) {
		t.Errorf("they differ first at %d steps: %s", n, page)
	}
	wants(t, page, `href="/solves/`+decided+`/runs/2#L3"`, `value="3"> 3: hasty`)

	// The two best without a choice; what is no run, comes twice or is too much is left out.
	wants(t, w.get(path), `value="1" checked`, `value="2" checked`, `value="3"> 3:`)
	page = w.get(path + "?runs=3&runs=3,9,x,,1")
	if n := strings.Count(page, " checked"); n != 2 {
		t.Errorf("%d runs", n)
	}
	for n := 4; n <= 9; n++ {
		r := w.store.runs[decided][0]
		r.N = n
		w.store.runs[decided] = append(w.store.runs[decided], r)
	}
	if n := strings.Count(w.get(path+"?runs=1,2,3,4,5,6,7,8"), " checked"); n != 6 {
		t.Errorf("%d runs", n)
	}
	wants(t, w.get(path+"?runs=4"), "kept no more") // it has no transcript
	if page = w.get(path + "?runs=1,4"); !strings.Contains(page, "its steps are kept no more") || strings.Contains(page, "they differ") {
		t.Errorf("a run whose steps are not known differs: %s", page)
	}
	w.store.runs[decided][1].Progress.Output = 1 << 30
	if page = w.get(path + "?runs=1,2"); !strings.Contains(page, "too long for this page") || strings.Contains(page, "go vet") {
		t.Errorf("the page of several runs read a gigabyte of output of one: %s", page)
	}
	wants(t, w.get("/solves/"+decided+"/runs/1"), path+"?runs=1,2")
	wants(t, w.get("/solves/"+decided+"/runs/3"), path+"?runs=3,1")
}

// TestComparedStepsAreBounded: a page has a hundred steps, and leads to those before and after.
func TestComparedStepsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := range 248 {
		w.did(1, fmt.Sprint("true ", n))
	}
	path := "/solves/" + decided + "/compare?runs=1,2"
	page := w.get(path)
	if wants(t, page, "later steps, from 101"); strings.Contains(page, "true 98<") || strings.Contains(page, "earlier steps") {
		t.Error("the first part has too much")
	}
	wants(t, w.get(path+"&from=101"), "true 98<", "later steps, from 201", "from=1\">earlier")
	page = w.get(path + "&from=999")
	if wants(t, page, "true 247<", "earlier steps, from 150"); strings.Contains(page, "later steps") {
		t.Error("there is nothing later")
	}
	w.store.runs[atWork][0].Attempt = 0
	wants(t, w.get("/solves/"+atWork+"/compare"), "No run has begun yet.")
}
