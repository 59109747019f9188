package nccl_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/commtest"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/comm/watch"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// recovering runs body on n ranks whose groups outlive a failure, by a switch between a group
// and the goroutines. left receives what each rank is told of one.
func recovering(t *testing.T, engine driver.Engine, n int, left func(rank int, why string), body func(g *nccl.Group, s *comm.Switch, d *gpu.Device) error) {
	t.Helper()
	devices := cards(t, engine, n)
	must(t, commtest.Ranks(n, func(c comm.Comm) error {
		d := devices[c.Rank()]
		guarded, w, err := watch.Guard(c, watch.Options{})
		if err != nil {
			return err
		}
		defer w.Close(nil)
		g, err := nccl.New(guarded, d, nccl.Options{Timeout: 5 * time.Second})
		if err != nil {
			return err
		}
		tell, cancel := watch.OnTold(guarded, g.Told)
		defer cancel()
		s := comm.NewSwitch(guarded, g)
		err = g.Recover(nccl.Recovery{Tell: tell, Left: func(why string, after time.Duration) {
			s.Drop(g.Name())
			if after <= 0 {
				why = "no time: " + why
			}
			left(c.Rank(), why)
		}})
		if err != nil {
			return err
		}
		if err := body(g, s, d); err != nil {
			return err
		}
		return g.Close()
	}))
}

// iteration is what an iteration does: sums, started sums, messages, a number that ranks
// add up. It returns that number.
func iteration(g, part comm.Comm, d *gpu.Device) (float64, error) {
	const n = 3000
	x, err := d.Alloc(n, device.F64)
	if err != nil {
		return 0, err
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i % 7 * (g.Rank() + 1))
	}
	if err := device.Upload(x, v); err != nil {
		return 0, err
	}
	if err := part.AllReduce(x.Slice(0, n/2)); err != nil {
		return 0, err
	}
	var under []comm.Request
	for i := range 3 {
		r, err := g.StartAllReduce(x.Slice(n/2+i*n/6, n/6))
		if err != nil {
			return 0, err
		}
		under = append(under, r)
	}
	for _, r := range under {
		if err := r.Wait(); err != nil {
			return 0, err
		}
	}
	if err := comm.Meet(g); err != nil {
		return 0, err
	}
	next, last := (g.Rank()+1)%g.Size(), (g.Rank()+g.Size()-1)%g.Size()
	y, err := d.Alloc(n, device.F64)
	if err != nil {
		return 0, err
	}
	if err := g.SendRecv(x, next, y, last); err != nil {
		return 0, err
	}
	dots, err := d.Dots([2]device.Buf{x, y})
	if err != nil {
		return 0, err
	}
	sum := []float64{dots[0]}
	err = g.Host().AllReduce(sum, comm.Sum)
	return sum[0], err
}

// A library that fails in an iteration on one rank, of which the others' cards learn
// nothing, is left by all; the iteration is made again by the control with the same
// result, and so are those that follow.
func TestGoesOnByTheControl(t *testing.T) {
	for _, fault := range []string{"error:1:1:6", "error:0:2:1", "error:1:3:6", "error:1:5:6", "error:0:7:3", "error:-1:4:6", "hang:1:1", "hang:1:3"} {
		hangs := strings.HasPrefix(fault, "hang")
		for _, ranks := range []int{2, 3} {
			if hangs && ranks > 2 {
				continue // each takes the time limit
			}
			t.Run(fmt.Sprint(fault, " on ", ranks), func(t *testing.T) {
				engine, library, failed := driver.CUDA, "NCCL 2.30.3 (libnccl.so.2)", ": a collective failed"
				if hangs {
					failed = "AllReduce of "
				}
				if fault == "error:0:2:1" {
					engine, library = driver.HIP, "RCCL of NCCL 2.22.3 (librccl.so.1)"
				}
				t.Setenv("GPUEMU_NCCL_SILENT", "1")
				want, again, told := make([]float64, ranks), make([]int, ranks), make([]string, ranks)
				run := func(rank int, g *nccl.Group, s *comm.Switch, d *gpu.Device, judge func(k int, got float64) error) error {
					p, err := s.Split(0, -s.Rank())
					if err != nil {
						return err
					}
					for k := range 4 {
						got := 0.
						err := g.Again(func(second bool) (err error) {
							if second {
								again[rank]++
							}
							got, err = iteration(s, p, d)
							return err
						})
						if err == nil {
							err = judge(k, got)
						}
						if err != nil {
							return fmt.Errorf("iteration %d: %w", k, err)
						}
					}
					return nil
				}
				note := func(rank int, why string) { told[rank] += why }
				recovering(t, engine, ranks, note, func(g *nccl.Group, s *comm.Switch, d *gpu.Device) error {
					return run(g.Rank(), g, s, d, func(k int, got float64) error {
						want[g.Rank()] = got
						return nil
					})
				})
				if strings.Join(told, "") != "" {
					t.Fatalf("without a fault: %q", told)
				}
				t.Setenv("GPUEMU_NCCL_FAULT", fault)
				recovering(t, engine, ranks, note, func(g *nccl.Group, s *comm.Switch, d *gpu.Device) error {
					err := run(g.Rank(), g, s, d, func(k int, got float64) error {
						if got != want[g.Rank()] {
							return fmt.Errorf("%v, want %v", got, want[g.Rank()])
						}
						return nil
					})
					if err == nil && s.Name() != "goroutines" {
						err = fmt.Errorf("afterwards sums go by %s", s.Name())
					}
					if err != nil {
						return err
					}
					return failsLeft(g, d)
				})
				for rank := range ranks {
					if again[rank] != 1 || !strings.HasPrefix(told[rank], "rank ") || strings.Count(told[rank], library) != 1 || !strings.Contains(told[rank], failed) {
						t.Errorf("rank %d: made again %d times, told %q", rank, again[rank], told[rank])
					}
				}
			})
		}
	}
}

// failsLeft makes sure that calls of a group that was left fail at once, without the others.
func failsLeft(g *nccl.Group, d *gpu.Device) error {
	x, err := d.Alloc(4, device.F64)
	if err != nil {
		return err
	}
	_, started := g.StartAllReduce(x)
	_, split := g.Split(0, 0)
	peer := (g.Rank() + 1) % g.Size()
	for what, err := range map[string]error{"all-reduce": g.AllReduce(x), "started all-reduce": started, "split": split,
		"broadcast": g.Bcast(x, 0), "message": g.SendRecv(x, peer, x, peer)} {
		if status.Code(err) != status.PeerLost {
			return fmt.Errorf("%s of a group that was left: status %d: %v", what, status.Code(err), err)
		}
	}
	return nil
}

// The error of one rank alone is no failure of the library: the work is not made again.
func TestAgainPassesErrorsOn(t *testing.T) {
	var again atomic.Int64
	mine := errors.New("all ranks fail alike")
	recovering(t, driver.CUDA, 2, func(int, string) { again.Add(1) }, func(g *nccl.Group, _ *comm.Switch, d *gpu.Device) error {
		err := g.Again(func(second bool) error { return &comm.Agreed{Err: mine} })
		if !errors.Is(err, mine) {
			return fmt.Errorf("%v, want %v", err, mine)
		}
		return nil
	})
	if again.Load() != 0 {
		t.Error("the library was left")
	}
}

// What a suite of communicators does is done by a switch that has left the library, too.
func TestConformanceAfterwards(t *testing.T) {
	gputest.NeedEmulator(t)
	devices := cards(t, driver.CUDA, 3)
	commtest.Run(t, func(n int, body func(c comm.Comm) error) error {
		return ranks(devices, n, func(g *nccl.Group, d *gpu.Device) error {
			s := comm.NewSwitch(g.Control(), g)
			left := func(string, time.Duration) { s.Drop(g.Name()) }
			if err := g.Recover(nccl.Recovery{Tell: func(string) {}, Left: left}); err != nil {
				return err
			}
			err := g.Again(func(second bool) error {
				if !second {
					g.Told("a test")
				}
				return nil
			})
			if err != nil {
				return err
			}
			return body(onDevice{s, d})
		})
	}, 3)
}
