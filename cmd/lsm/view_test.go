package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The address that lsm view prints works, and an interrupt ends it with status 0.
func TestView(t *testing.T) {
	folder := t.TempDir()
	var out, errs bytes.Buffer
	if code := run([]string{"synth", "points", "-o", filepath.Join(folder, "p"), "--shots", "2"}, &out, &errs); code != 0 {
		t.Fatalf("status %d: %s", code, &errs)
	}
	cmd := exec.Command(os.Args[0], "view", filepath.Join(folder, "p", "model.h5"), filepath.Join(folder, "p", "survey.h5"))
	cmd.Env = append(os.Environ(), asRank+"=1")
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, &errs)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "open "))
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	for _, at := range []string{url, strings.Split(url, "?")[0] + "api/files"} {
		answer, err := client.Get(at)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || strings.Contains(at, "api") && !bytes.Contains(body, []byte("survey.h5")) {
			t.Errorf("%s: status %d, %v: %s", at, answer.StatusCode, err, body)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: %v: %s", err, &errs)
	}

	errs.Reset()
	model := filepath.Join(folder, "p", "model.h5")
	if code := run([]string{"view", model, "-o", model, "--force"}, &out, &errs); code != 2 || !strings.Contains(errs.String(), "must be another file") {
		t.Errorf("picks saved over an input: status %d, %s", code, &errs)
	}
	errs.Reset()
	if code := run([]string{"view", filepath.Join(folder, "p", "config.toml")}, &out, &errs); code != 3 || !strings.Contains(errs.String(), "config.toml") {
		t.Errorf("a file that is none: status %d, %s", code, &errs)
	}
}
