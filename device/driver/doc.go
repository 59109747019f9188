// Package driver calls a GPU's driver and its run-time compiler: CUDA with
// NVRTC, or HIP with hiprtc.
//
// Both are shared libraries found at run time, so a build needs neither, and a
// machine without them gets an error that names what is missing. One table of
// function pointers serves both makers; its two columns of symbols are in
// calls.h.
package driver

import (
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver/ahead"
)

// Engine says whose driver. It implements accel.Engine.
type Engine int

const (
	CUDA Engine = iota // NVIDIA: libcuda and libnvrtc
	HIP                // AMD: libamdhip64 and libhiprtc
)

// String is the engine's name in a configuration.
func (e Engine) String() string {
	if e == HIP {
		return "hip"
	}
	return "cuda"
}

// Facts implements accel.Engine.
func (e Engine) Facts() accel.Facts {
	f := accel.Facts{Space: device.CUDA, Driver: driverLibraries[e], Compiler: compilerLibraries[e],
		Collectives: collectives[e], Matrices: matrices[e], Carries: ahead.Arch}
	if e == HIP {
		f.Space, f.Carries = device.ROCm, ""
	}
	return f
}
