package machine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRoom(t *testing.T) {
	const gib = 1 << 30
	const status = "VmSize: 1048576 kB\nVmRSS: 524288 kB\nVmData: 262144 kB\n"
	const meminfo = "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"
	for _, c := range []struct {
		name, meminfo, group string
		l                    limits
		want                 int64
	}{
		{"nothing known", "", "", limits{}, 0},
		{"the machine", meminfo, "", limits{}, 8*gib - slack},
		{"the control group", meminfo, "2147483648", limits{}, 2*gib - gib/2 - slack},
		{"the address space", meminfo, "", limits{space: 3 * gib}, 2*gib - slack},
		{"the data", meminfo, "", limits{data: gib}, gib - gib/4 - slack},
		{"the least", meminfo, "2147483648", limits{space: 2 * gib, data: 2 * gib}, gib - slack},
		{"none is left", meminfo, "", limits{space: gib / 2}, 1},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"proc/meminfo": c.meminfo, "proc/self/status": status,
			"proc/self/cgroup": "0::/a\n", "cgroup/a/memory.max": c.group} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := room(filepath.Join(dir, "proc"), filepath.Join(dir, "cgroup"), c.l); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if FreeDisk(t.TempDir()) < 0 || Room() < 0 {
		t.Error("negative room")
	}
}
