package primesim_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/yudai-dev/yudai/test/primesim"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	in := setup(t, primesim.Options{}).running(nil)
	data := bytes.Repeat([]byte("0123456789abcdef"), primesim.MaxUpload/16)
	if status, body := in.upload("/srv/a/b/file", data); status != 200 || !contains(body, `"size":16777216`) {
		t.Errorf("the largest upload: %d %s", status, body)
	}
	if status, body := in.get("download", "/srv/a/b/file"); status != 200 || body != string(data) {
		t.Errorf("downloaded %d, %d bytes", status, len(body))
	}
	if status, body := in.upload("/srv/a/b/file", append(data, 'x')); status != 413 {
		t.Errorf("an upload that is too large: %d %s", status, body)
	}
	if status, _ := in.get("read-file", "/srv/a/b/file"); status != 413 {
		t.Errorf("read-file of 16 MiB is %d", status)
	}
	if status, body := in.upload("/srv/a/b/file", []byte("short\xff")); status != 200 {
		t.Errorf("over an older file: %d %s", status, body)
	}
	status, body := in.get("read-file", "/srv/a/b/file")
	var got struct {
		Content string
		Size    int
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || got.Content != "short\uFFFD" || got.Size != 6 {
		t.Errorf("read-file: %d %s", status, body)
	}
	in.run("ln -s /etc/hostname /tmp/link; ln -s ../../../../../../etc/hostname /tmp/up; mkfifo /tmp/fifo")
	for path, want := range map[string]int{"/srv/none": 404, "relative": 400, "/srv/a": 400, "/tmp/fifo": 400, "/etc/hostname/x": 404} {
		if status, body := in.get("download", path); status != want {
			t.Errorf("download of %s: %d %s", path, status, body)
		}
	}
	for _, link := range []string{"/tmp/link", "/tmp/up"} { // they lead to the machine's own file
		if status, body := in.get("download", link); status != 200 || body != in.id+"\n" {
			t.Errorf("download of %s: %d %s", link, status, body)
		}
	}
	for path, want := range map[string]int{"/srv/a": 400, "/srv/dir/": 400, "relative": 400, "/etc/hostname/x": 404, "/usr/bin/new": 500} {
		if status, body := in.upload(path, []byte("x")); status != want {
			t.Errorf("upload to %s: %d %s", path, status, body)
		}
	}
}

func TestListsAndBatches(t *testing.T) {
	t.Parallel()
	c := setup(t, primesim.Options{Team: "cteam"})
	a := c.create(dict{"name": "a", "labels": []string{"x", "y"}})["id"]
	b := c.create(dict{"name": "b", "labels": []string{"x"}})["id"]
	c.create(dict{"name": "team", "labels": []string{"x"}, "team_id": "cteam"})
	c.call(200, "DELETE", "sandbox/"+b.(string), nil)
	for query, want := range map[string]float64{
		"": 2, "?labels=x": 2, "?labels=x&labels=y": 1, "?labels=x&is_active=true": 1, "?status=TERMINATED": 1, "?team_id=cteam": 1, "?user_id=other": 0,
	} {
		if got := c.call(200, "GET", "sandbox"+query, nil); got["total"] != want || len(got["sandboxes"].([]any)) != int(want) {
			t.Errorf("%q: %v", query, got)
		}
	}
	page := c.call(200, "GET", "sandbox?per_page=1&page=2", nil)
	if page["has_next"] != false || page["sandboxes"].([]any)[0].(dict)["id"] != a {
		t.Errorf("the second page is %v", page)
	}
	batch := c.call(200, "POST", "sandbox/status:batchGet", dict{"sandbox_ids": []any{a, "cnone"}})
	if len(batch["statuses"].([]any)) != 1 || len(batch["errors"].([]any)) != 1 {
		t.Errorf("statuses: %v", batch)
	}
	c.call(422, "POST", "sandbox/status:batchGet", dict{"sandbox_ids": []any{a, a}})
	gone := c.call(200, "DELETE", "sandbox", dict{"labels": []string{"x"}, "team_id": "cteam"})
	if len(gone["succeeded"].([]any)) != 1 || len(c.Billed()) != 1 {
		t.Errorf("deleted: %v", gone)
	}
	c.call(422, "DELETE", "sandbox", dict{})
}
