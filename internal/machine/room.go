package machine

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// slack is left to the run-time system and the libraries, bytes.
const slack = 64 << 20

// Room is the main memory that this process may still take, in bytes: the least of
// what the machine has available, what the control group allows and what the limits
// of the process (ulimit -v, ulimit -d) leave. 0 stands for not known; what is known
// is at least 1.
func Room() int64 { return room("/proc", "/sys/fs/cgroup", processLimits()) }

// limits are those of the process in bytes, 0 for none.
type limits struct{ space, data int64 }

func room(proc, cgroup string, l limits) int64 {
	m := ReadMemory(proc, cgroup)
	space, data, resident := taken(proc)
	least := int64(0)
	take := func(n int64) {
		if n = max(1, n-slack); least == 0 || n < least {
			least = n
		}
	}
	if m.Available > 0 {
		take(m.Available)
	}
	if m.Limit > 0 {
		take(m.Limit - resident)
	}
	if l.space > 0 && space > 0 {
		take(l.space - space)
	}
	if l.data > 0 && data > 0 {
		take(l.data - data)
	}
	return least
}

// taken is what the process has: address space, data and resident memory; 0 where the
// system does not say.
func taken(proc string) (space, data, resident int64) {
	text, _ := os.ReadFile(filepath.Join(proc, "self", "status")) // not there: not known
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(f[1], 10, 64) // no number: not known
		switch f[0] {
		case "VmSize:":
			space = kib << 10
		case "VmData:":
			data = kib << 10
		case "VmRSS:":
			resident = kib << 10
		}
	}
	return space, data, resident
}
