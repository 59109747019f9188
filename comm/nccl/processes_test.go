package nccl_test

import (
	"context"
	"encoding/gob"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/comm/nccl"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/gpu"
)

// Ranks that are processes of this test program: they meet at a socket of the
// first, which is all that the library needs of a control here.
const (
	hubVariable  = "LSM_TEST_HUB"
	rankVariable = "LSM_TEST_RANK"
	sizeVariable = "LSM_TEST_SIZE"
)

// asProcesses runs this test as n processes and has judge look at each.
func asProcesses(t *testing.T, n int, judge func(rank int, out []byte, err error), env ...string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "hub")
	l, err := net.Listen("unix", socket)
	must(t, err)
	defer l.Close()
	go serveHub(l, n)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	outs, errs := make([][]byte, n), make([]error, n)
	var wg sync.WaitGroup
	for r := range n {
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(append(os.Environ(), hubVariable+"="+socket, rankVariable+"="+strconv.Itoa(r),
			sizeVariable+"="+strconv.Itoa(n), "GPUEMU_CARDS="+strconv.Itoa(n)), env...)
		wg.Add(1)
		go func() {
			defer wg.Done()
			outs[r], errs[r] = cmd.CombinedOutput()
		}()
	}
	wg.Wait()
	for r := range n {
		judge(r, outs[r], errs[r])
	}
}

// serveHub gives every rank what all have brought, round after round, until one
// is gone.
func serveHub(l net.Listener, n int) {
	in, out := make([]*gob.Decoder, n), make([]*gob.Encoder, n)
	for range n {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		var rank int
		d := gob.NewDecoder(c)
		if d.Decode(&rank) != nil {
			return
		}
		in[rank], out[rank] = d, gob.NewEncoder(c)
	}
	for {
		all := make([][]byte, n)
		for r := range n {
			if in[r].Decode(&all[r]) != nil {
				return
			}
		}
		for r := range n {
			if out[r].Encode(all) != nil {
				return
			}
		}
	}
}

// process is this process's rank.
func process(t *testing.T) (*nccl.Group, *gpu.Device) {
	t.Helper()
	control, d := processControl(t)
	g, err := nccl.New(control, d, nccl.Options{})
	must(t, err)
	return g, d
}

// processControl is this process's control, and its card.
func processControl(t *testing.T) (*remote, *gpu.Device) {
	t.Helper()
	rank, _ := strconv.Atoi(os.Getenv(rankVariable))
	size, _ := strconv.Atoi(os.Getenv(sizeVariable))
	c, err := net.Dial("unix", os.Getenv(hubVariable))
	must(t, err)
	control := &remote{rank: rank, size: size, in: gob.NewDecoder(c), out: gob.NewEncoder(c)}
	must(t, control.out.Encode(rank))
	d, err := gpu.Open(gpu.Options{Card: rank, Cache: accel.UserCache()})
	must(t, err)
	return control, d
}

// remote is a control with host values alone.
type remote struct {
	comm.Comm
	rank, size int
	in         *gob.Decoder
	out        *gob.Encoder
}

func (c *remote) Rank() int       { return c.rank }
func (c *remote) Size() int       { return c.size }
func (c *remote) Host() comm.Host { return remoteHost{c} }

type remoteHost struct{ c *remote }

func (h remoteHost) AllGather(x []byte) (all [][]byte, err error) {
	if err := h.c.out.Encode(x); err != nil {
		return nil, err
	}
	err = h.c.in.Decode(&all)
	return all, err
}

func (h remoteHost) AllReduce(x []float64, op comm.Op) error {
	mine := make([]byte, 0, 8*len(x))
	for _, v := range x {
		mine = strconv.AppendUint(append(mine, ' '), math.Float64bits(v), 16)
	}
	all, err := h.AllGather(mine)
	if err != nil {
		return err
	}
	for rank, b := range all {
		r := newWords(b)
		for i := range x {
			switch v := math.Float64frombits(r()); {
			case rank == 0:
				x[i] = v
			case op == comm.Max:
				x[i] = max(x[i], v)
			default:
				x[i] += v
			}
		}
	}
	return nil
}

// newWords reads numbers in hexadecimal one after the other.
func newWords(b []byte) func() uint64 {
	return func() (v uint64) {
		var n int
		fmt.Sscanf(string(b), " %x", &v)
		for n = 1; n < len(b) && b[n] != ' '; n++ {
		}
		b = b[n:]
		return v
	}
}

func (h remoteHost) Agree(flags uint64) (uint64, error) {
	return 0, fmt.Errorf("not needed here")
}
