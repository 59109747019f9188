// Package pieces holds what the engines share for applications in pieces, see dist.Pieced.
package pieces

import (
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Cut joins parts that begin at starts, n elements in all, into at most the given number
// of groups of nearly the same size, each of at least "least" elements. It returns where
// the groups begin, followed by n.
func Cut(starts []int, n, most, least int) []int {
	cuts := []int{0}
	if n == 0 {
		return cuts
	}
	groups := max(1, min(most, n/least))
	last := 0
	for _, at := range starts {
		if g := at * groups / n; g > last {
			cuts, last = append(cuts, at), g
		}
	}
	return append(cuts, n)
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

// Begin starts an application whose pieces begin at cuts, and ends the one before. sum
// computes piece i, elements lo to hi, and finish adds it to the destination; both are
// called with the lock held. The caller of Begin holds it too.
func (r *Room) Begin(cuts []int, ahead int, sum func(lo, hi, i int) (device.Buf, error), finish func(lo, hi, i int) error) *Application {
	r.current = &Application{r, cuts, ahead, sum, finish}
	return r.current
}

// End prevents an application that is under way from going on. The caller holds the lock.
func (r *Room) End() { r.current = nil }

// Application is an application under way. It implements dist.Application.
type Application struct {
	room   *Room
	cuts   []int
	ahead  int
	sum    func(lo, hi, i int) (device.Buf, error)
	finish func(lo, hi, i int) error
}

// Pieces implements dist.Application.
func (a *Application) Pieces() int { return len(a.cuts) - 1 }

// Ahead implements dist.Application.
func (a *Application) Ahead() int { return a.ahead }

// Sum implements dist.Application.
func (a *Application) Sum(i int) (device.Buf, error) {
	a.room.Lock()
	defer a.room.Unlock()
	a.check()
	return a.sum(a.cuts[i], a.cuts[i+1], i)
}

// Finish implements dist.Application.
func (a *Application) Finish(i int) error {
	a.room.Lock()
	defer a.room.Unlock()
	a.check()
	if i == a.Pieces()-1 {
		a.room.current = nil
	}
	return a.finish(a.cuts[i], a.cuts[i+1], i)
}

func (a *Application) check() {
	if a.room.current != a {
		panic("kirchhoff: an application goes on after its end, or that of the engine, or after another was begun")
	}
}
