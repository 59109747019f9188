package device

// Kernel is an operation of another package that each device does in its own way: on the
// host by a function, on a card by a kernel.
type Kernel struct {
	Host   func(dst, src []float32) // overwrites dst
	Double func(dst, src []float64) // the same in double precision; nil: with copies in single

	Program Program
	Name    string // of the kernel in the program

	// Blocks of Threads threads are launched. The kernel takes the addresses of dst and src
	// and these arguments. An argument is a number, a structure in C's layout, or a buffer.
	// For a buffer the kernel gets the address.
	Blocks, Threads int
	Args            []any
}

// Program is a source of kernels, in the CUDA C++ that package device/driver compiles.
type Program struct{ Name, Text string }

// Run calls the function of a kernel. For elements in double precision without such a function it uses
// copies in single precision.
func (h *Host) Run(k Kernel, dst, src Buf) error {
	_, to := dst.(hosted)
	_, from := src.(hosted)
	if !to || !from {
		return Foreign(h, k.Name, dst, src)
	}
	if dst.Type() == F32 && src.Type() == F32 {
		k.Host(Slice[float32](dst), Slice[float32](src))
		return nil
	}
	if k.Double != nil && dst.Type() == F64 && src.Type() == F64 {
		k.Double(Slice[float64](dst), Slice[float64](src))
		return nil
	}
	y, x := make([]float32, dst.Len()), make([]float32, src.Len())
	if err := Download(x, src); err != nil {
		return err
	}
	k.Host(y, x)
	return Upload(dst, y)
}
