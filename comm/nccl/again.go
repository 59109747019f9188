package nccl

import (
	"errors"
	"fmt"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Recovery is how a run goes on after the library has failed.
type Recovery struct {
	// Tell tells all ranks of the run that the library has failed on this one, and why. It
	// needs neither library nor control, since these may be waiting. Each rank then calls
	// [Group.Told].
	Tell func(why string)
	// Left is called on all ranks when they have left the library. From then on the methods
	// of all groups fail, so it makes something else carry the buffers, such as a
	// [comm.Switch]. why names a rank, and after is how long ago the first rank noticed.
	Left func(why string, after time.Duration)
}

// recovery is the state of a world's recovery. The main goroutine alone uses inside and
// agreed.
type recovery struct {
	Recovery
	all    comm.Comm // all ranks, for agreements on failures
	inside bool      // work is under way that can be made again
	agreed bool      // all ranks know of the failure
	own    string    // why the library has failed on this rank, "" if it has not
	since  time.Time // when this rank noticed
}

// Recover lets [Group.Again] outlive a failure of the library. All ranks call it, on the
// group that New returned. The second call does nothing.
func (g *Group) Recover(r Recovery) error {
	if g.world.back.Load() != nil {
		return nil
	}
	all, err := g.control.Split(0, g.Rank())
	if err := comm.Together(g.control, err); err != nil {
		return err
	}
	g.world.back.Store(&recovery{Recovery: r, all: all})
	return nil
}

// Told reports a failure on another rank to this one.
func (g *Group) Told(why string) {
	g.world.noteLost(status.Peer(fmt.Errorf("another rank: %s", why)), true)
}

// Again does work. If the library fails on a rank meanwhile, all ranks leave it for good, and
// work is done once more, with again set. All ranks call it together. Work must make the same
// collectives on all ranks, except messages, which come after a [comm.Meet]. It may end with
// an error on each rank. Without Recover a failure is an error.
func (g *Group) Again(work func(again bool) error) error {
	w := g.world
	b := w.back.Load()
	if b == nil || w.hasLeft() {
		return work(false)
	}
	b.inside = true
	err := work(false)
	if err == nil {
		err = w.dev.Sync()
	}
	if failed := w.async(); failed != nil {
		w.noteLost(failed, false)
	}
	var known *comm.Agreed
	if !b.agreed && (err == nil || w.failure.Load() != nil || errors.As(err, &known)) {
		err = errors.Join(err, w.meet())
	}
	b.inside = false
	if !b.agreed {
		return err
	}
	if err := w.leave(); err != nil {
		return err
	}
	return work(true)
}

// Meet returns an error, on all ranks of the run, if the library has failed on one of them
// and the work under way can be done again.
func (g *Group) Meet() error { return g.world.meet() }

func (w *world) meet() error {
	b := w.back.Load()
	switch {
	case b == nil || !b.inside:
		return nil
	case b.agreed:
		return *w.failure.Load()
	}
	failed := uint64(0)
	if w.failure.Load() != nil {
		failed = 1
	}
	failed, err := b.all.Host().Agree(failed)
	if err != nil || failed == 0 {
		return err
	}
	b.agreed = true
	w.noteLost(status.Peer(errors.New("the communication library has failed on another rank")), true)
	return *w.failure.Load()
}

// meeting is a control's host values, which ranks combine only if the library works on all.
type meeting struct {
	comm.Host
	w *world
}

// Host is the control's.
func (g *Group) Host() comm.Host { return meeting{g.control.Host(), g.world} }

func (m meeting) AllReduce(x []float64, op comm.Op) error {
	if err := m.w.meet(); err != nil {
		return err
	}
	return m.Host.AllReduce(x, op)
}

// noteLost notes that the library has failed. No call is given to it any more, and what the
// card has been asked ends soon. told says that the other ranks know. It does not wait.
func (w *world) noteLost(err error, told bool) {
	w.noting.Lock()
	defer w.noting.Unlock()
	if w.failure.Load() != nil {
		return
	}
	if b := w.back.Load(); b == nil {
		w.card.Fail(err)
	} else {
		b.since = time.Now()
		w.card.Cut(err)
		if !told {
			b.own = err.Error()
			go b.Tell(b.own)
		}
	}
	w.failure.Store(&err)
	close(w.fell)
	go func() {
		w.abort()
		close(w.aborted)
	}()
}

// judgeCall returns the error of a call. It is a failure of the library if the run can go on
// without that.
func (w *world) judgeCall(err error) error {
	if err != nil && w.back.Load() != nil {
		w.noteLost(err, false)
	}
	return err
}

// hasLeft reports whether all ranks know that the library has failed.
func (w *world) hasLeft() bool {
	b := w.back.Load()
	return b != nil && b.agreed
}

// leave brings everything to an end that the library was given, after a failure that all
// ranks know of.
func (w *world) leave() error {
	b := w.back.Load()
	<-w.aborted
	w.card.Cut(nil)
	err := w.awaitCard()
	if err == nil {
		err = w.endStarted()
	}
	if err := comm.Together(b.all, err); err != nil {
		return err
	}
	type failure struct {
		Why     string
		Seconds float64
	}
	all, err := comm.GatherJSON(b.all.Host().AllGather, failure{b.own, time.Since(b.since).Seconds()})
	if err != nil {
		return err
	}
	why, after := "", 0.
	for rank, f := range all {
		after = max(after, f.Seconds)
		if why == "" && f.Why != "" {
			why = fmt.Sprintf("rank %d: %s", rank, f.Why)
		}
	}
	b.Left(why, time.Duration(after*float64(time.Second)))
	return nil
}

// awaitCard waits until the card has done what it was asked.
func (w *world) awaitCard() error {
	for _, s := range []*accel.Stream{w.card.Main(), w.stream} {
		done := make(chan error, 1)
		go func() { done <- w.card.Finish(s) }()
		select {
		case err := <-done:
			if err != nil {
				return err
			}
		case <-time.After(w.timeout):
			return status.Peer(fmt.Errorf("%s: %s still waits %v after its communicators were aborted", w.lib, w.dev.Name(), w.timeout))
		}
	}
	return nil
}

// endStarted brings the agreements on started all-reduces to an end: ranks that have started
// fewer than others take part in those that they lack.
func (w *world) endStarted() error {
	var under []comm.Request
	for _, g := range w.groups {
		if g.Size() == 1 {
			continue
		}
		most := []float64{float64(g.started)}
		if err := g.control.Host().AllReduce(most, comm.Max); err != nil {
			return err
		}
		for ; g.started < int(most[0]); g.started++ {
			votes := make([]float64, len(ballot("", nil)))
			if g.started == 0 {
				votes = append(votes, make([]float64, idWords)...)
			}
			r, err := g.control.StartAllReduce(device.Wrap(w.host, votes))
			if err != nil {
				return err
			}
			under = append(under, r)
		}
	}
	for _, r := range under {
		if err := r.Wait(); err != nil {
			return err
		}
	}
	r := &request{done: make(chan struct{})}
	w.jobs <- r
	<-r.done
	return nil
}
