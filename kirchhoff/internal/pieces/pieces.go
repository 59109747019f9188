// Package pieces is what engines of the operator share of applications in pieces, see
// dist.Pieced.
package pieces

import (
	"sync"

	"github.com/kirchhoff-lsm/lsm/device"
)

// Cut makes of parts that begin at starts, n elements in all, at most the given number
// of groups of nearly the same size, and no more than have least elements each. It returns
// where they begin, and n.
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

// Longest is the longest of the pieces that cuts make.
func Longest(cuts []int) (most int) {
	for i := range len(cuts) - 1 {
		most = max(most, cuts[i+1]-cuts[i])
	}
	return most
}

// Room guards the scratch of an engine: one application is under way at a time, and the
// lock is held while the engine works.
type Room struct {
	sync.Mutex
	current *Application
}

// Begin starts an application whose pieces begin at cuts, which ends the one before. Sum
// computes piece i, elements lo to hi, and finish adds it to the destination; both hold
// the lock. The caller holds it now.
func (r *Room) Begin(cuts []int, ahead int, sum func(lo, hi, i int) (device.Buf, error), finish func(lo, hi, i int) error) *Application {
	r.current = &Application{r, cuts, ahead, sum, finish}
	return r.current
}

// End makes an application that is under way unable to go on. The caller holds the lock.
func (r *Room) End() { r.current = nil }

// Application is one under way: a dist.Application.
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
