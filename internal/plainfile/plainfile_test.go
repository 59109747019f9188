package plainfile

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("file"), []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(in("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", in("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, name := range []string{"file", "pipe", "socket"} {
		if err := os.Symlink(name, in("to-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		in("file"): "", in("to-file"): "",
		dir:        "is a folder",
		in("pipe"): "a named pipe", in("to-pipe"): "a named pipe",
		in("socket"): "a socket", in("to-socket"): "a socket",
		os.DevNull: "a device",
		in("none"): "no such file",
	} {
		f, err := Open(path)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%s: error %v, want one with %q", path, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if text, err := io.ReadAll(f); string(text) != "content" || err != nil {
			t.Errorf("%s: read %q, %v", path, text, err)
		}
		f.Close()
	}
}
