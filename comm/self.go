package comm

import (
	"fmt"
	"os"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/printable"
)

// Self is the communicator of a run with one rank. Its reductions do nothing and cost nothing.
func Self() Comm { return self{} }

type self struct{}

func (self) Name() string                               { return "self" }
func (self) Rank() int                                  { return 0 }
func (self) Size() int                                  { return 1 }
func (self) Split(color, key int) (Comm, error)         { return self{}, nil }
func (self) AllReduce(device.Buf) error                 { return nil }
func (self) StartAllReduce(device.Buf) (Request, error) { return Done, nil }
func (self) Bcast(x device.Buf, root int) error         { return CheckRoot(self{}, root) }
func (self) AllGather(dst, src device.Buf, counts []int) error {
	if err := CheckCounts(self{}, dst, src, counts); err != nil {
		return err
	}
	return dst.Device().Copy(dst, src)
}
func (self) SendRecv(send device.Buf, to int, recv device.Buf, from int) error {
	if err := CheckPeers(self{}, send, to, recv, from); err != nil {
		return err
	}
	if (to == None) != (from == None) {
		return fmt.Errorf("comm: rank 0 of 1 sends to %d and receives from %d", to, from)
	}
	if to == None {
		return nil
	}
	if send.Len() != recv.Len() || send.Type() != recv.Type() {
		return fmt.Errorf("comm: rank 0 sends itself %d %v and receives %d %v", send.Len(), send.Type(), recv.Len(), recv.Type())
	}
	return recv.Device().Copy(recv, send)
}
func (self) Host() Host { return selfHost{} }
func (self) Abort(code int, why error) {
	if why != nil {
		fmt.Fprintf(printable.Writer(os.Stderr), "lsm: %v\n", why)
	}
	os.Exit(code)
}

type selfHost struct{}

func (selfHost) AllReduce(x []float64, op Op) error   { return CheckOp(op) }
func (selfHost) AllGather(x []byte) ([][]byte, error) { return [][]byte{x}, nil }
func (selfHost) Agree(flags uint64) (uint64, error)   { return flags, nil }
