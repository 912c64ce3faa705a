package swerex_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yudai-dev/yudai/agent/agenttest"
	"github.com/yudai-dev/yudai/agent/swerex"
	"github.com/yudai-dev/yudai/sandbox"
	"github.com/yudai-dev/yudai/test/localtest"
	"github.com/yudai-dev/yudai/test/require"
)

// A pipe where a file is wanted keeps nobody waiting, and is no fault of the sandbox.
func TestPipeForAFile(t *testing.T) {
	t.Parallel()
	m := agenttest.Machine(t)
	s, url := serve(t, m)
	if err := syscall.Mkfifo(m.Host("/workspace/repo/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(20*time.Second, func() { t.Error("it waits"); s.Close(context.Background()) })
	defer late.Stop()
	if _, class, _ := post(t, url+"/read_file", object{"path": "/workspace/repo/pipe"}); class != "swerex.exceptions.SwerexException" {
		t.Error(class)
	}
	if err := s.Failure(); err != nil {
		t.Error(err)
	}
}

// What the user of a real sandbox may not read or write is an exception, and no fault of the sandbox.
func TestDeniedFiles(t *testing.T) {
	t.Parallel()
	s, url := serve(t, localtest.Open(t, sandbox.Spec{Name: "denied", Launch: true}))
	script := "echo secret > unreadable; mkdir closed; echo x > closed/f; chmod 0 unreadable closed; mkdir fixed; chmod 555 fixed"
	if out, class, message := post(t, url+"/execute", object{"command": script, "shell": true, "check": true}); class != "" {
		t.Fatal(out, message)
	}
	for path, classes := range map[string][2]string{
		"unreadable": {"builtins.PermissionError", ""},
		"closed/f":   {"swerex.exceptions.SwerexException", "builtins.PermissionError"},
		"fixed/f":    {"builtins.FileNotFoundError", "builtins.PermissionError"},
		"fixed":      {"swerex.exceptions.SwerexException", "swerex.exceptions.SwerexException"},
	} {
		path = sandbox.RepoDir + "/" + path
		if _, class, message := post(t, url+"/read_file", object{"path": path}); class != classes[0] {
			t.Errorf("read %s: %s %s", path, class, message)
		}
		if _, class, message := post(t, url+"/write_file", object{"path": path, "content": "x"}); class != classes[1] {
			t.Errorf("write %s: %s %s", path, class, message)
		}
	}
	if err := s.Failure(); err != nil {
		t.Errorf("taken for a failure of the sandbox: %v", err)
	}
}

func TestUploadedArchive(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	if class := upload(t, url, "/workspace/keep/box", "true", archive(t, []byte("text"), "dir/sub/", "dir/f", "g")); class != "" {
		t.Error(class)
	}
	out, _, _ := post(t, url+"/execute", object{"command": "find . | sort; cat dir/f", "shell": true, "cwd": "/workspace/keep/box"})
	if out["stdout"] != ".\n./dir\n./dir/f\n./dir/sub\n./g\ntext" {
		t.Errorf("%q", out["stdout"])
	}
	for _, data := range [][]byte{[]byte("no zip"), archive(t, nil, "../up")} {
		if class := upload(t, url, "/workspace/keep/bad", "true", data); class != "swerex.exceptions.SwerexException" {
			t.Error(class)
		}
	}
	if status, _ := form(t, url, map[string]string{"target_path": "/tmp/x"}); status != 422 {
		t.Error(status)
	}
}

// An archive that becomes too much is refused before it is unpacked.
func TestHostileArchive(t *testing.T) {
	t.Parallel()
	require.Long(t)
	s := swerex.New(silent{}, token)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	names := make([]string, 20_001)
	for i := range names {
		names[i] = fmt.Sprint("f", i)
	}
	for want, data := range map[string][]byte{
		"more than 268435456 bytes": archive(t, make([]byte, 100<<20), "a", "b", "c"),
		"more than 20000 files":     archive(t, nil, names...),
	} {
		status, out := form(t, web.URL, map[string]string{"target_path": "/workspace/keep/x", "unzip": "true", "file": string(data)})
		if status != 511 || !strings.Contains(fmt.Sprint(out), want) {
			t.Errorf("%d %v, want %q", status, out, want)
		}
	}
}

// archive is a zip archive of the files, each with the text.
func archive(t *testing.T, text []byte, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range names {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(text); err != nil && !strings.HasSuffix(name, "/") {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// upload returns the class of the exception, "" if there is none.
func upload(t *testing.T, url, target, unzip string, data []byte) string {
	t.Helper()
	status, out := form(t, url, map[string]string{"target_path": target, "unzip": unzip, "file": string(data)})
	if status == http.StatusOK {
		return ""
	}
	e, _ := out["swerexception"].(object)
	class, _ := e["class_path"].(string)
	return class
}

func form(t *testing.T, url string, fields map[string]string) (int, object) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, value := range fields {
		p, err := w.CreateFormField(name)
		if name == "file" {
			p, err = w.CreateFormFile(name, "f")
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Write([]byte(value))
	}
	w.Close()
	header := key()
	header["Content-Type"] = w.FormDataContentType()
	return ask(t, http.MethodPost, url+"/upload", &b, header)
}
