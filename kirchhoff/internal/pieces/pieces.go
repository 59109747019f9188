// Package pieces holds what the engines share for applications in pieces, see dist.Pieced.
package pieces

import (
	"context"
	"slices"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
)

// tail is how many times smaller than least the last groups of Cut may be.
const tail = 8

// Cut joins parts that begin at starts, n elements in all, into at most the given number
// of groups of nearly the same size, each of at least "least" elements. It returns where
// the groups begin, followed by n. With several groups, the last is halved again and
// again, because nothing is computed beside the sum of the last piece. One group may be empty.
func Cut(starts []int, n, most, least int) []int {
	groups := max(1, min(most, n/least))
	var wanted []int // beginnings of groups
	for g := 1; g < groups; g++ {
		wanted = append(wanted, (n*g+groups-1)/groups)
	}
	for at := n * (groups - 1) / groups; most > 1 && n-at >= 2*least/tail; {
		at += (n - at) / 2
		wanted = append(wanted, at)
	}
	cuts := []int{0}
	for _, at := range starts {
		if i, _ := slices.BinarySearch(wanted, at+1); i > 0 {
			cuts, wanted = append(cuts, at), wanted[i:]
		}
	}
	if n > 0 || most == 1 {
		cuts = append(cuts, n)
	}
	return cuts
}

// Starts returns the first trace of each group of neighbouring traces whose source places
// agree when divided by width. With width 1 a group is a shot.
func Starts(source []int32, width int32) (starts []int) {
	for i := range source {
		if i == 0 || source[i]/width != source[i-1]/width {
			starts = append(starts, i)
		}
	}
	return starts
}

// CutTraces joins the groups of Starts by Cut. Traces that are not sorted by source form
// one piece.
func CutTraces(source []int32, width int32, most, least int) []int {
	starts := []int{0}
	if slices.IsSorted(source) {
		starts = Starts(source, width)
	}
	return Cut(starts, len(source), most, least)
}

// Sums adds up the values of each group. Groups begin at starts.
func Sums(values []float64, starts []int) []float64 {
	out := make([]float64, len(starts))
	for i, end := range append(starts, len(values))[1:] {
		for _, v := range values[starts[i]:end] {
			out[i] += v
		}
	}
	return out
}

// Longest is the length of the longest piece that cuts make.
func Longest(cuts []int) (most int) {
	for i := range len(cuts) - 1 {
		most = max(most, cuts[i+1]-cuts[i])
	}
	return most
}

// Room guards the scratch of an engine. Only one application is under way at a time, and
// the engine holds the lock while it works.
type Room struct {
	sync.Mutex
	current *Application
}

// Work is how an engine makes an application. Its pieces begin at Cuts, which end with the
// number of elements. Sum computes piece i, elements lo to hi, and Finish adds it to the
// destination. Both are called with the room's lock held.
type Work struct {
	Cuts   []int
	Ahead  int // see dist.Application
	Sum    func(lo, hi, i int) (device.Buf, error)
	Finish func(lo, hi, i int) error
}

// Run makes all pieces, one after the other. The caller holds the room's lock.
func (w Work) Run(ctx context.Context) error {
	for i, lo := range w.Cuts[:len(w.Cuts)-1] {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := w.Sum(lo, w.Cuts[i+1], i); err != nil {
			return err
		}
		if err := w.Finish(lo, w.Cuts[i+1], i); err != nil {
			return err
		}
	}
	return nil
}

// Begin starts an application, and ends the one before. The caller holds the lock.
func (r *Room) Begin(w Work) *Application {
	r.current = &Application{r, w}
	return r.current
}

// End prevents an application that is under way from going on. The caller holds the lock.
func (r *Room) End() { r.current = nil }

// Application is an application under way. It implements dist.Application.
type Application struct {
	room *Room
	work Work
}

// Pieces implements dist.Application.
func (a *Application) Pieces() int { return len(a.work.Cuts) - 1 }

// Ahead implements dist.Application.
func (a *Application) Ahead() int { return a.work.Ahead }

// Sum implements dist.Application.
func (a *Application) Sum(i int) (device.Buf, error) {
	a.room.Lock()
	defer a.room.Unlock()
	a.check()
	return a.work.Sum(a.work.Cuts[i], a.work.Cuts[i+1], i)
}

// Finish implements dist.Application.
func (a *Application) Finish(i int) error {
	a.room.Lock()
	defer a.room.Unlock()
	a.check()
	if i == a.Pieces()-1 {
		a.room.current = nil
	}
	return a.work.Finish(a.work.Cuts[i], a.work.Cuts[i+1], i)
}

func (a *Application) check() {
	if a.room.current != a {
		panic("kirchhoff: an application goes on after its end, or that of the engine, or after another was begun")
	}
}
