package accel

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Source is a program for the card, in the part of CUDA C++ that HIP shares. Its kernels
// are extern "C". It is compiled without contracting a·b + c into one operation.
type Source struct {
	Name    string   // for messages, such as "vector.cu"
	Text    string   //
	Defines []string // macros, as NAME or NAME=VALUE

	// Native says, by NVIDIA's architectures such as 90 for sm_90, from which version of NVRTC
	// on its code is as good as what drivers make of the carried PTX, such as 13.5. An older
	// NVRTC compiles only where nothing is carried. Never is for all versions. An architecture
	// that is not named goes by the newest older one. nil means that NVRTC always compiles.
	Native map[int]float64
}

// Never is a version that no NVRTC has.
const Never = math.MaxFloat64

// Carried reports whether the embedded PTX of a program serves a card better than the output
// of NVRTC of some version. arch is the card's architecture as [Card] names it.
func (s Source) Carried(arch, version string) bool {
	number, nvidia := strings.CutPrefix(arch, "sm_")
	n, err := strconv.Atoi(number)
	if !nvidia || err != nil {
		return false
	}
	known := 0
	for a := range s.Native {
		if a <= n {
			known = max(known, a)
		}
	}
	return known > 0 && versionNumber(version) < s.Native[known]
}

// versionNumber is 13.5 for "13.5", and 0 for a text that is not a version. Minor versions
// have one digit.
func versionNumber(version string) float64 {
	v, err := strconv.ParseFloat(version, 64)
	if err != nil {
		return 0
	}
	return v
}

// Hash is the SHA-256, in hexadecimal, of everything that determines the compiled program
// except compiler and target.
func (s Source) Hash() string {
	h := sha256.New()
	for _, part := range append([]string{s.Name, s.Text}, s.Defines...) {
		fmt.Fprintf(h, "%d %s\n", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Binary is the output of the compiler.
type Binary struct {
	Image []byte // cubin, PTX or HIP code object
	Log   string // what the compiler had to say: warnings, registers
}
