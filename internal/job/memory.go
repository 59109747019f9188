package job

import (
	"os"
	"strconv"
	"strings"
)

// Memory predicts what a run of the configured solver holds at once.
func (j *Job) Memory() Memory {
	word := int64(j.elementType().Size())
	n := int64(j.Image.Len())
	samples := int64(j.Survey.NumTraces()) * int64(j.Survey.NT)
	perImage, perData := int64(3+j.keptGradients()), int64(3) // CGLS: x, s, p, gradients; d, r, q
	if j.Config.Solver.Damping > 0 {
		perImage += 4 // the second row of d, r, q and the scratch of its adjoint
	}
	tables := int64(1)
	if j.Config.Kirchhoff.Dynamic {
		tables = 2*int64(j.Image.Dim()) - 1 // two weights in 2-D, a direction and a weight in 3-D
	}
	return Memory{
		Tables:  int64(j.Places.Len()) * n * word * tables,
		Data:    samples * 4,
		Vectors: word * (perImage*n + perData*samples),
		Scratch: word * samples,
		Limit:   j.memoryLimit(),
	}
}

// memoryLimit is machine.memory_gib, or what the machine can give now.
func (j *Job) memoryLimit() int64 {
	if g := j.Config.Machine.MemoryGiB; g > 0 {
		return int64(g * (1 << 30))
	}
	if n := available("/proc/meminfo"); n > 0 {
		return n
	}
	return 1 << 62 // not known on this system: the allocation itself will tell
}

// available reads MemAvailable from a file like /proc/meminfo, 0 if it cannot.
func available(path string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) >= 2 && f[0] == "MemAvailable:" {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
