package kirchhoff

import (
	"context"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/device"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// Recompute is the cpu engine for surveys whose tables do not fit into memory.
// It cuts the list of traces into stretches whose places fit, and in every
// application computes the tables of one stretch after the other, uses them and
// lets them go. Traces keep their order, so the fewer places neighbouring traces
// need, the less is computed twice: a survey sorted by shot is as it should be.
//
// Its traces have the same bits as the cpu engine's; its images differ by
// rounding, since the stretches' images are added in float32.
type Recompute struct {
	p     *Problem
	parts []part
	bytes int64 // tables of the largest stretch
	isa   string
}

// part is a stretch of traces and the problem they make.
type part struct {
	first, n int
	problem  *Problem
}

// NewRecompute cuts p into stretches whose tables take at most the given number
// of bytes. Its errors are those of NewCPU, and a budget below the tables of
// one trace.
func NewRecompute(ctx context.Context, p *Problem, budget int64) (*Recompute, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	whole := *p
	if whole.Dynamic && whole.MaxDistance == [2]float64{} {
		// Of the whole survey, or the weights would depend on the cut.
		whole.MaxDistance[0], whole.MaxDistance[1] = MaxDistance(p.Grid, p.Positions)
	}
	whole.Progress = nil
	r := &Recompute{p: &whole}
	per := p.PlaceBytes()
	most := int(budget / per)
	if most < 2 {
		return nil, fmt.Errorf("kirchhoff: %d bytes for tables do not hold the two of a trace, %d bytes", budget, 2*per)
	}
	// Mark places by the stretch that used them last.
	seen := make([]int, p.Positions.Len())
	places, first := 0, 0
	for i := 0; i <= p.NumTraces(); i++ {
		need := 0
		if i < p.NumTraces() {
			need = fresh(seen, p.Positions, i, len(r.parts)+1)
		}
		if i == p.NumTraces() || places+need > most {
			r.bytes = max(r.bytes, int64(places)*per)
			r.parts = append(r.parts, part{first, i - first, stretch(&whole, first, i)})
			first, places = i, 0
			if i < p.NumTraces() {
				need = fresh(seen, p.Positions, i, len(r.parts)+1)
			}
		}
		places += need
	}
	// The first stretch is made once now: what is wrong shows before a long run.
	e, err := NewCPU(ctx, r.parts[0].problem)
	if err != nil {
		return nil, err
	}
	r.isa = e.ISA()
	e.Close()
	return r, nil
}

// fresh marks trace i's places as used by stretch number k and returns how many
// were not.
func fresh(seen []int, p *survey.Positions, i, k int) (n int) {
	for _, place := range [2]int32{p.Source[i], p.Receiver[i]} {
		if seen[place] != k {
			seen[place] = k
			n++
		}
	}
	return n
}

// stretch is the problem of traces lo to hi, with their places alone.
func stretch(p *Problem, lo, hi int) *Problem {
	from := p.Positions
	to := &survey.Positions{Dim: from.Dim}
	number := map[int32]int32{}
	var old []int
	place := func(at int32) int32 {
		n, ok := number[at]
		if !ok {
			n = int32(len(old))
			number[at] = n
			old = append(old, int(at))
			to.XYZ = append(to.XYZ, from.At(int(at))...)
			to.Role = append(to.Role, from.Role[at])
			to.Row = append(to.Row, from.Row[at])
		}
		return n
	}
	for i := lo; i < hi; i++ {
		to.Source = append(to.Source, place(from.Source[i]))
		to.Receiver = append(to.Receiver, place(from.Receiver[i]))
	}
	q := *p
	q.Positions = to
	if p.Amplitude != nil {
		q.Amplitude = func(place int) ([]float64, error) { return p.Amplitude(old[place]) }
	}
	return &q
}

// Forward adds the demigrated traces of the image src to dst.
func (r *Recompute) Forward(ctx context.Context, dst, src device.Buf) error {
	return r.each(ctx, func(e *CPU, first, n int) error {
		return e.Forward(ctx, dst.Slice(first, n), src)
	})
}

// Adjoint adds the migrated image of the traces src to dst.
func (r *Recompute) Adjoint(ctx context.Context, dst, src device.Buf) error {
	return r.each(ctx, func(e *CPU, first, n int) error {
		return e.Adjoint(ctx, dst, src.Slice(first, n))
	})
}

// each calls f with the engine of every stretch and its samples.
func (r *Recompute) each(ctx context.Context, f func(e *CPU, first, n int) error) error {
	for _, part := range r.parts {
		e, err := NewCPU(ctx, part.problem)
		if err != nil {
			return err
		}
		err = f(e, part.first*r.p.NT, part.n*r.p.NT)
		e.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Name is the engine's name in the configuration.
func (r *Recompute) Name() string { return "cpu" }

// Type is float32.
func (r *Recompute) Type() device.Type { return device.F32 }

// ISA names the set of kernels in use.
func (r *Recompute) ISA() string { return r.isa }

// Stretches is the number of pieces that the traces are cut into.
func (r *Recompute) Stretches() int { return len(r.parts) }

// TableBytes is the memory of the largest stretch's tables.
func (r *Recompute) TableBytes() int64 { return r.bytes }

// Triples is the number of (trace, image point) pairs one application visits.
func (r *Recompute) Triples() int64 { return r.p.Triples() }

// Close does nothing: no tables are kept.
func (r *Recompute) Close() {}
