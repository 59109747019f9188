package survey_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
	"pgregory.net/rapid"
)

// draw makes a survey on few coordinates, so that places coincide: rows that
// repeat, sources on receivers, rows that no trace uses.
func draw(t *rapid.T) *survey.Survey {
	s := &survey.Survey{Dim: rapid.IntRange(2, 3).Draw(t, "dim"), NT: 2}
	coord := rapid.SampledFrom([]float64{-1, 0, 1})
	ns := rapid.IntRange(1, 5).Draw(t, "ns")
	nr := rapid.IntRange(1, 5).Draw(t, "nr")
	s.Sources = rapid.SliceOfN(coord, ns*s.Dim, ns*s.Dim).Draw(t, "sources")
	s.Receivers = rapid.SliceOfN(coord, nr*s.Dim, nr*s.Dim).Draw(t, "receivers")
	if s.Fixed = rapid.Bool().Draw(t, "fixed"); s.Fixed {
		return s
	}
	n := rapid.IntRange(1, 12).Draw(t, "traces")
	s.SourceIndex = rapid.SliceOfN(rapid.Int32Range(0, int32(ns-1)), n, n).Draw(t, "source_index")
	s.ReceiverIndex = rapid.SliceOfN(rapid.Int32Range(0, int32(nr-1)), n, n).Draw(t, "receiver_index")
	return s
}

// Every trace is mapped to places at its own source and receiver; no place is
// without a trace, and there are as many as there are distinct coordinates, or
// used rows where places are not shared.
func TestDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		share := rapid.Bool().Draw(t, "share")
		p := s.Distinct(share)
		n := s.NumTraces()
		if p.Dim != s.Dim || len(p.Source) != n || len(p.Receiver) != n || len(p.Row) != p.Len() || len(p.XYZ) != p.Len()*p.Dim {
			t.Fatalf("%d places: %d rows, %d coordinates; %d and %d of %d traces",
				p.Len(), len(p.Row), len(p.XYZ), len(p.Source), len(p.Receiver), n)
		}
		used := make([]bool, p.Len())
		want := map[string]bool{}
		for i := range n {
			src, rec := s.Pair(i)
			if !slices.Equal(p.At(int(p.Source[i])), s.Source(src)) || !slices.Equal(p.At(int(p.Receiver[i])), s.Receiver(rec)) {
				t.Fatalf("trace %d: places %v and %v, want %v and %v", i,
					p.At(int(p.Source[i])), p.At(int(p.Receiver[i])), s.Source(src), s.Receiver(rec))
			}
			used[p.Source[i]], used[p.Receiver[i]] = true, true
			if share {
				want[fmt.Sprint(s.Source(src))], want[fmt.Sprint(s.Receiver(rec))] = true, true
				continue
			}
			want[fmt.Sprint("source", src)], want[fmt.Sprint("receiver", rec)] = true, true
			if p.Role[p.Source[i]] != survey.AtSource || int(p.Row[p.Source[i]]) != src ||
				p.Role[p.Receiver[i]] != survey.AtReceiver || int(p.Row[p.Receiver[i]]) != rec {
				t.Fatalf("trace %d of rows %d and %d has places of rows %d and %d", i, src, rec,
					p.Row[p.Source[i]], p.Row[p.Receiver[i]])
			}
		}
		if slices.Contains(used, false) || p.Len() != len(want) {
			t.Fatalf("%d places, want %d; used %v", p.Len(), len(want), used)
		}
		// The row that named a place lies there, and sources come first.
		for i, role := range p.Role {
			at := s.Source
			if role == survey.AtReceiver {
				at = s.Receiver
			}
			if !slices.Equal(p.At(i), at(int(p.Row[i]))) {
				t.Fatalf("place %d at %v is %v %d's, which is elsewhere", i, p.At(i), role, p.Row[i])
			}
		}
		if !slices.IsSorted(p.Role) {
			t.Fatalf("roles are %v", p.Role)
		}
	})
}

// A subset, and a subset of a subset, maps its traces to the same coordinates and
// numbers as the whole, holds no place that it does not need, and keeps the order.
func TestSubset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := draw(t).Distinct(rapid.Bool().Draw(t, "share"))
		p := whole
		all := make([]int32, len(p.Source)) // the whole's traces in p
		for i := range all {
			all[i] = int32(i)
		}
		for range 2 {
			pick := rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 1, 12).Draw(t, "traces")
			traces, next := make([]int32, len(pick)), make([]int32, len(pick))
			for i, n := range pick {
				traces[i], next[i] = int32(n), all[n]
			}
			sub, from := p.Subset(traces)
			all = next
			used := map[int32]bool{}
			for i, n := range all {
				for _, ends := range [2][2]int32{{sub.Source[i], whole.Source[n]}, {sub.Receiver[i], whole.Receiver[n]}} {
					at, want := int(ends[0]), int(ends[1])
					used[ends[0]] = true
					if sub.NumberOf(ends[0]) != ends[1] || !slices.Equal(sub.At(at), whole.At(want)) ||
						sub.Role[at] != whole.Role[want] || sub.Row[at] != whole.Row[want] {
						t.Fatalf("trace %d of the subset is at place %d, number %d, want number %d", i, at, sub.NumberOf(ends[0]), want)
					}
				}
			}
			if len(used) != sub.Len() || len(from) != sub.Len() || !slices.IsSorted(sub.Number) {
				t.Fatalf("%d of %d places used, %d numbers within the larger, %v within the whole", len(used), sub.Len(), len(from), sub.Number)
			}
			for i, n := range from {
				if !slices.Equal(sub.At(i), p.At(int(n))) {
					t.Fatalf("place %d is not place %d of the larger", i, n)
				}
			}
			p = sub
		}
	})
}

// Sharing never needs more places, and both ways map traces to the same
// coordinates.
func TestSharingSavesPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		a, b := s.Distinct(true), s.Distinct(false)
		if a.Len() > b.Len() {
			t.Fatalf("%d shared places, %d without", a.Len(), b.Len())
		}
		for i := range s.NumTraces() {
			if !slices.Equal(a.At(int(a.Source[i])), b.At(int(b.Source[i]))) ||
				!slices.Equal(a.At(int(a.Receiver[i])), b.At(int(b.Receiver[i]))) {
				t.Fatalf("trace %d is at different places", i)
			}
		}
	})
}

// The streamer of the documentation: 1000 shots and 240 channels, every 12.5 m,
// the first channel 100 m behind the source.
func TestStreamer(t *testing.T) {
	s := &survey.Survey{Dim: 2, NT: 2}
	const shots, channels, first = 1000, 240, 8
	for i := range shots {
		s.Sources = append(s.Sources, 12.5*float64(i), 6)
	}
	for j := range shots + channels - 1 {
		s.Receivers = append(s.Receivers, 12.5*float64(j-first-channels+1), 6)
	}
	for i := range shots {
		for c := range channels {
			s.SourceIndex = append(s.SourceIndex, int32(i))
			s.ReceiverIndex = append(s.ReceiverIndex, int32(i+channels-1-c))
		}
	}
	// Positions from −247·12.5 m to 991·12.5 m for receivers, 0 to 999 for sources.
	if got := s.Distinct(true).Len(); got != shots+channels+first-1 {
		t.Errorf("%d places, want %d", got, shots+channels+first-1)
	}
	if got := s.Distinct(false).Len(); got != shots+shots+channels-1 {
		t.Errorf("%d places without sharing, want %d", got, shots+shots+channels-1)
	}
}

func TestRoleNames(t *testing.T) {
	if survey.AtSource.String() != "source" || survey.AtReceiver.String() != "receiver" {
		t.Error("roles are misnamed")
	}
}

// A source and a receiver at one position are two places where roles count, rows of one role
// are one.
func TestDistinctRoles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		p := s.DistinctRoles()
		want := map[string]bool{}
		for i := range s.NumTraces() {
			src, rec := s.Pair(i)
			a, b := p.Source[i], p.Receiver[i]
			if p.Role[a] != survey.AtSource || p.Role[b] != survey.AtReceiver || !slices.Equal(p.At(int(a)), s.Source(src)) || !slices.Equal(p.At(int(b)), s.Receiver(rec)) {
				t.Fatalf("trace %d from %v to %v has %s %v and %s %v", i, s.Source(src), s.Receiver(rec), p.Role[a], p.At(int(a)), p.Role[b], p.At(int(b)))
			}
			want[fmt.Sprint("source", s.Source(src))], want[fmt.Sprint("receiver", s.Receiver(rec))] = true, true
		}
		if p.Len() != len(want) {
			t.Fatalf("%d places, want %d", p.Len(), len(want))
		}
	})
}
