package accel

import (
	"errors"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/dynlib"
)

// Engine is a kind of GPU.
type Engine interface {
	// String is the engine's name in a configuration.
	fmt.Stringer
	Facts() Facts
	// Open loads the driver. Its error is a missing resource that names the missing library or
	// function, or says why the driver refuses.
	Open() (Driver, error)
}

// Facts describe an engine. All libraries have names and files to look for.
type Facts struct {
	Space       device.Space // whose addresses those of its cards are
	Driver      dynlib.Library
	Compiler    dynlib.Library // run-time compiler of programs
	Collectives dynlib.Library // sums between cards, such as NCCL
	Matrices    dynlib.Library // products of matrices, such as cuBLAS
	Carries     string         // architecture of the programs that are made ahead, "" where none are
}

// Driver is an engine's driver, loaded.
type Driver interface {
	// About describes the driver, with its file: "CUDA 12.4 (libcuda.so.1)".
	About() (string, error)
	// Cards describes the visible cards. It is an error if there are none.
	Cards() ([]Card, error)
	// Use makes a card ready.
	Use(c Card) (*Context, error)
	// Compiler loads the run-time compiler. child is a command that compiles for engines whose
	// compiler may end its process.
	Compiler(child []string) (Compiler, error)
	// Carried returns the program that was made ahead. Its error is a missing resource.
	Carried(src Source) (Binary, error)
}

// Compiler is a run-time compiler.
type Compiler interface {
	// String is the compiler's file and version.
	fmt.Stringer
	// Kind identifies the compiler: the engine, such as "cuda", and the compiler's own version,
	// such as "12.9".
	Kind() (engine, version string)
	// Compile makes a binary for an architecture as [Card] names it. The error of a faulty
	// program holds the compiler's log.
	Compile(src Source, arch string) (Binary, error)
}

// Card is one GPU as the driver describes it.
type Card struct {
	Index           int    // among the visible cards
	Name            string // such as "NVIDIA H200"
	ID              string // UUID in hexadecimal: the same in every process that sees this card
	Bus             string // PCI address
	Arch            string // what to compile for: "sm_90", "gfx90a:sramecc+:xnack-"
	Memory          int64  // bytes
	Multiprocessors int
	Shared          int // bytes of shared memory a block may ask for
}

// ErrMemory is in the error of an allocation for which the card has too little memory.
var ErrMemory = errors.New("the card has too little memory")
