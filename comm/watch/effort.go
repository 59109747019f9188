package watch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// effort looks for signs that a rank works though it enters no collective: it uses a
// processor, reads or writes, the file system keeps it waiting, or its card computes. A rank
// that does none of these has stopped.
type effort struct {
	at   time.Time // of the last look
	last time.Time // of the last sign seen
	cpu  time.Duration
	io   int64
}

// The watch itself and the Go runtime use up to this much.
const (
	leastCPU  = 0.1     // of one core
	leastIO   = 1 << 20 // bytes a second, sockets included
	leastSpan = 250 * time.Millisecond
)

// look records what the process did since the last look. busy says that it works in a way
// that only others see.
func (e *effort) look(busy func() bool) {
	now := time.Now()
	span := now.Sub(e.at)
	if span < leastSpan {
		return
	}
	cpu, io := cpuTime(), ioBytes()
	if e.at.IsZero() ||
		(cpu-e.cpu).Seconds() > leastCPU*span.Seconds() ||
		float64(io-e.io) > leastIO*span.Seconds() ||
		heldByFiles() || busy() {
		e.last = now
	}
	e.at, e.cpu, e.io = now, cpu, io
}

// cpuTime is the processor time that all threads of the process have used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ioBytes is the number of bytes that the process has read and written, 0 if the system
// does not say.
func ioBytes() int64 {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	sum := int64(0)
	for _, line := range bytes.Split(text, []byte("\n")) {
		name, value, _ := bytes.Cut(line, []byte(": "))
		if string(name) == "rchar" || string(name) == "wchar" {
			n, _ := strconv.ParseInt(string(value), 10, 64) // 0 is as good as unknown
			sum += n
		}
	}
	return sum
}

// heldByFiles reports whether a thread is in uninterruptible sleep, as in a read from a
// slow file server.
func heldByFiles() bool {
	tasks, _ := filepath.Glob("/proc/self/task/*/stat")
	for _, t := range tasks {
		text, err := os.ReadFile(t)
		if err != nil {
			continue // it has ended
		}
		// The format is "pid (name) state …", and the name may contain anything.
		if i := bytes.LastIndexByte(text, ')'); i >= 0 && i+2 < len(text) && text[i+2] == 'D' {
			return true
		}
	}
	return false
}
