package machine

import (
	"cmp"
	"runtime"

	"golang.org/x/sys/cpu"
)

// CPU is the processor's name and those of its features that matter to the
// kernels.
func CPU() (name string, features []string) {
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"SSE4.2", cpu.X86.HasSSE42}, {"AVX", cpu.X86.HasAVX}, {"AVX2", cpu.X86.HasAVX2}, {"FMA", cpu.X86.HasFMA},
		{"AVX-512F", cpu.X86.HasAVX512F}, {"AVX-512BW", cpu.X86.HasAVX512BW}, {"AVX-512DQ", cpu.X86.HasAVX512DQ},
		{"AVX-512VL", cpu.X86.HasAVX512VL}, {"AVX-512VBMI", cpu.X86.HasAVX512VBMI},
		{"NEON", cpu.ARM64.HasASIMD}, {"SVE", cpu.ARM64.HasSVE}, {"SVE2", cpu.ARM64.HasSVE2},
	} {
		if f.has {
			features = append(features, f.name)
		}
	}
	return cpuName("/proc/cpuinfo"), features
}

// cpuName is the processor's name as Linux gives it, the architecture elsewhere.
func cpuName(path string) string { return cmp.Or(field(path, "model name"), runtime.GOARCH) }
