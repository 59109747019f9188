package survey_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/kirchhoff-lsm/lsm/survey"
)

// crowd is a survey of n traces whose rows repeat, lie at one another's coordinates, or
// are used by no trace. Zeros have either sign.
func crowd(r *rand.Rand, dim, n int) *survey.Survey {
	s := &survey.Survey{Dim: dim, NT: 2}
	row := func(to *[]float64) {
		for range dim {
			v := float64(r.IntN(9) - 4)
			if v == 0 && r.IntN(2) == 0 {
				v = math.Copysign(0, -1)
			}
			*to = append(*to, v)
		}
	}
	for range 1 + n/7 {
		row(&s.Sources)
	}
	for range 1 + n/3 {
		row(&s.Receivers)
	}
	for range n {
		s.SourceIndex = append(s.SourceIndex, int32(r.IntN(s.NumSources())))
		s.ReceiverIndex = append(s.ReceiverIndex, int32(r.IntN(s.NumReceivers())))
	}
	return s
}

// found is what Distinct is to find, by comparing everything with everything.
type found struct {
	role []survey.Role
	row  []int32
	at   [2][]int32 // of sources and receivers, by trace
}

func simple(s *survey.Survey, share bool) (f found) {
	xyz := func(role survey.Role, row int32) []float64 {
		if role == survey.AtSource {
			return s.Source(int(row))
		}
		return s.Receiver(int(row))
	}
	for role, rows := range [2][]int32{s.SourceIndex, s.ReceiverIndex} {
		role := survey.Role(role)
		for _, row := range rows {
			at := -1
			for k := range f.row {
				same := f.role[k] == role && f.row[k] == row
				if same || share && slices.Equal(xyz(f.role[k], f.row[k]), xyz(role, row)) {
					at = k
					break
				}
			}
			if at < 0 {
				at = len(f.row)
				f.role, f.row = append(f.role, role), append(f.row, row)
			}
			f.at[role] = append(f.at[role], int32(at))
		}
	}
	return f
}

// Places are numbered in the order of their first use, sources first, whatever the rows.
// Zeros of either sign are the same coordinate.
func TestDistinctIsTheSimpleOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for k := range 60 {
		s := crowd(r, 2+k%2, 1+r.IntN(400))
		share := k%3 > 0
		p, want := s.Distinct(share), simple(s, share)
		if !slices.Equal(p.Role, want.role) || !slices.Equal(p.Row, want.row) ||
			!slices.Equal(p.Source, want.at[0]) || !slices.Equal(p.Receiver, want.at[1]) {
			t.Fatalf("%d traces, shared %v: places %v %v, want %v %v", s.NumTraces(), share, p.Role, p.Row, want.role, want.row)
		}
		for i := range p.Len() {
			for a, v := range p.At(i) {
				if row := (map[survey.Role][]float64{survey.AtSource: s.Sources, survey.AtReceiver: s.Receivers})[p.Role[i]]; v != row[int(p.Row[i])*s.Dim+a] {
					t.Fatalf("place %d lies at %v", i, p.At(i))
				}
			}
		}
	}
}

// A subset of few traces is found in another way than one of many, with the same result.
func TestSmallSubsetsAreLikeLargeOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := crowd(r, 3, 4000)
	p := s.Distinct(false)
	for _, n := range []int{1, 2, 7, p.Len()/32 - 1, p.Len() / 32, p.Len()/32 + 1, 4000} {
		traces := make([]int32, n)
		for i := range traces {
			traces[i] = int32(r.IntN(4000))
		}
		sub, from := p.Subset(traces)
		var want []int32
		for _, i := range traces {
			want = append(want, p.Source[i], p.Receiver[i])
		}
		slices.Sort(want)
		want = slices.Compact(want)
		if !slices.Equal(from, want) || !slices.Equal(sub.Number, want) || sub.Len() != len(want) || len(sub.XYZ) != 3*len(want) {
			t.Fatalf("%d traces of %d places: places %v, numbers %v, want %v", n, p.Len(), from, sub.Number, want)
		}
		for k, i := range traces {
			if from[sub.Source[k]] != p.Source[i] || from[sub.Receiver[k]] != p.Receiver[i] {
				t.Fatalf("trace %d is at places %d and %d", k, sub.Source[k], sub.Receiver[k])
			}
		}
		for k, i := range from {
			if !slices.Equal(sub.At(k), p.At(int(i))) || sub.Role[k] != p.Role[i] || sub.Row[k] != p.Row[i] {
				t.Fatalf("place %d is not place %d of the larger", k, i)
			}
		}
	}
}

// The places of many traces take memory for two numbers a trace, and for the places.
func TestPlacesTakeLittleMemory(t *testing.T) {
	const shots, channels = 1000, 100
	s := &survey.Survey{Dim: 3, NT: 2}
	for i := range shots {
		s.Sources = append(s.Sources, 25*float64(i), 0, 5)
	}
	for i := range shots + channels {
		s.Receivers = append(s.Receivers, 25*float64(i), 100, 5)
	}
	for i := range shots * channels {
		s.SourceIndex = append(s.SourceIndex, int32(i/channels))
		s.ReceiverIndex = append(s.ReceiverIndex, int32(i/channels+i%channels))
	}
	few := make([]int32, 50)
	const places = 7 // bytes a trace for those, at most 300 each
	for what, c := range map[string]struct {
		most float64 // bytes a trace
		do   func()
	}{
		"all":        {8 + places, func() { s.Distinct(true) }},
		"half again": {2*8 + places, func() { s.Distinct(true).Subset(s.SourceIndex) }},
		"few":        {8 + places, func() { s.Distinct(true).Subset(few) }},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.do()
		runtime.ReadMemStats(&after)
		if each := float64(after.TotalAlloc-before.TotalAlloc) / (shots * channels); each > c.most {
			t.Errorf("%s: %.1f bytes a trace, want at most %.1f", what, each, c.most)
		}
	}
}
