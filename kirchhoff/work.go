package kirchhoff

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/engines"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/pieces"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Engine is one implementation of the operator.
type Engine interface {
	// Kernels are the operators, one for each image. Forward maps an image to the traces
	// and Adjoint the traces to an image. Both add into their destination and may be called
	// from several goroutines (one call of an engine runs at a time). If ctx ends first, they
	// return its error and leave the destination half filled. The kernels of the cpu and gpu
	// engines are dist.Pieced.
	Kernels() []dist.Kernel
	// Groups applies the operator to streamed traces; nil unless Work has Cuts.
	Groups() dist.Grouped
	// Squared are the operators with their elements squared, one for each image. Their adjoint
	// takes w², the squared weights of all samples, [ntrace, nt], to the diagonal of
	// Aᵀ W² A, in one pass and without approximation: with the columns c[k] = W C e[k] of
	// the convolution over the record,
	//
	//	(AᵀW²A)_ii = Σ_traces a_i² ‖(1−w) c[k] + w c[k+1]‖²
	//	           = Σ_traces a_i² [(1−w)² E[k] + w² E[k+1] + 2 w (1−w) F[k]],
	//
	// E[k] = ‖c[k]‖², F[k] = ⟨c[k], c[k+1]⟩. With anti-aliasing each band has its own E and F, of the
	// response to a sample that its triangle has spread. The triangle is not cut off at the ends of the
	// record, so there, over half its length, the diagonal is a little too large. Their forward
	// is an error. They share the engine's memory: of all these and of Kernels one application
	// may be under way at a time. Nil if the engine does not offer them.
	Squared() []dist.Kernel

	Name() string      // in the configuration
	Info() string      // element type, instruction set or card, and how the work is done
	Type() device.Type // element type of the data and image buffers
	TableBytes() int64 // memory of the tables that are held at once

	// Intact reports an error if tables that are kept are no longer what they were when
	// they were made. It reads them once. A table that a fault of the machine's memory has
	// changed is wrong in both directions alike, so no test of the adjoint finds it.
	Intact() error
	// Close frees the tables, after which the engine must not be used. It waits for an
	// application that is running.
	Close()
}

// Work says how an engine goes through a problem. An engine works in units: some
// traces, with the tables of the places that they use. The zero Work is one unit of all
// traces whose tables are kept. Results have the same bits for any units, except for images
// whose sums are not exact, which differ by rounding.
type Work struct {
	// Cuts is nil, or the first trace of each group of streamed traces, followed by the
	// number of traces. A group is a unit, and memory besides tables is needed for one
	// group at a time. Groups consist of whole shots.
	Cuts []int
	// Remake recomputes tables in every application, a unit's at a time. Units are groups,
	// or the largest number of runs of traces of one source whose tables take at most Budget
	// bytes together.
	Remake bool
	Budget int64
	// Classes is nil for one image, or describes each of several images. They share
	// tables and scratch.
	Classes []Class
	// Exact says that applications will use a quantum, see dist.Pieced.
	Exact bool
	// Whole makes the adjoint one piece, as dist.Reach needs it.
	Whole bool
}

// Class selects the traces and angles of one of several images.
type Class struct {
	Traces  []int32 // their numbers, ascending, or none
	All     bool    // all traces, instead of Traces
	Opening Window  // of the angle between the two rays, instead of the problem's; zero: the problem's. The problem needs a window too.
}

// Need is the memory that an engine takes, in bytes.
type Need struct {
	Tables    int64 // at once
	AllTables int64 // of every place; more than Tables if they are recomputed
	Place     int64 // tables of one place
	Scratch   int64 // outside Go's heap, from before the tables are made; with what applications in pieces take
	Pieces    int64 // the part of Scratch that applications in pieces take
	Traces    int64 // outside Go's heap, once the tables are made
	Making    int64 // outside Go's heap, while tables are made
	OnCard    int64 // on a card, while it makes tables
	Heap      int64 // on Go's heap
}

// Refuse returns an error if the named engine does not offer what p and w ask for.
func Refuse(engine string, p *Problem, w Work) error {
	var asked engines.Features
	for f, wanted := range map[engines.Features]bool{
		engines.Gathers: w.Classes != nil, engines.Streamed: w.Cuts != nil, engines.Recomputed: w.Remake, engines.Exact: w.Exact,
		engines.Dynamic: p.Dynamic, engines.DipLimit: p.DipLimit != nil, engines.OpeningLimit: !p.Opening.none(), engines.Antialias: p.Antialias != nil, engines.Aperture: p.local(),
		engines.Several: p.several(),
	} {
		if wanted {
			asked |= f
		}
	}
	if missing := engines.Missing(engine, asked); missing != 0 {
		return fmt.Errorf("kirchhoff: the %s engine does not offer %v; these do: %s", engine, missing, strings.Join(engines.Offering(asked), ", "))
	}
	return nil
}

// Text describes, for Engine.Info, how an engine goes through p in the given number of units.
func (w *Work) Text(p *Problem, units int) (text string) {
	if w.Remake {
		how := "recomputed"
		if _, ok := p.Times.(*traveltime.Coarse); ok {
			how = "interpolated"
		}
		text += fmt.Sprintf("; traveltimes %s in %s", how, readable.Count(units, "stretch"))
	}
	if w.Cuts != nil {
		text += fmt.Sprintf("; traces streamed in %s of up to %d", readable.Count(len(w.Cuts)-1, "group"), pieces.Longest(w.Cuts))
	}
	if w.Classes != nil {
		text += "; " + readable.Count(len(w.Classes), "image")
	}
	return text
}

// images returns the classes, or one class of everything if there are none.
func (w *Work) images() []Class {
	if len(w.Classes) == 0 {
		return []Class{{All: true}}
	}
	return w.Classes
}

// check returns the first fault found in w for the problem p.
func (w *Work) check(p *Problem) error {
	if w.Cuts == nil {
		return nil
	}
	if w.Classes != nil {
		return errors.New("kirchhoff: streamed traces make one image, not one for each class")
	}
	n := len(w.Cuts) - 1
	if n < 1 || w.Cuts[0] != 0 || w.Cuts[n] != p.NumTraces() {
		return fmt.Errorf("kirchhoff: groups of %d traces are cut at %v", p.NumTraces(), w.Cuts)
	}
	source := p.Positions.Source
	for i, at := range w.Cuts[:n] {
		if at >= w.Cuts[i+1] || i > 0 && source[at] == source[at-1] {
			return fmt.Errorf("kirchhoff: group %d, traces %d to %d, is not of whole shots", i, at, w.Cuts[i+1])
		}
	}
	return nil
}
