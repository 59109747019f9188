package gpu

import (
	"fmt"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device"
)

// The host is a device as the others are.
func TestHost(t *testing.T) {
	conform(t, device.NewHost(1), device.NewHost(2), device.NewHost(3), device.NewHost(8))
}

// conform runs the conformance suite of devices on one device, given in one or more forms that
// must agree to the bit: the host with other numbers of threads, a card with
// other numbers of blocks.
func conform(t *testing.T, forms ...device.Device) {
	s := suite(forms)
	t.Run("axpby/float32", func(t *testing.T) { testAxpby[float32](t, s) })
	t.Run("axpby/float64", func(t *testing.T) { testAxpby[float64](t, s) })
	t.Run("axpby/int64", func(t *testing.T) { testAxpby[int64](t, s) })
	t.Run("multiply/float32", func(t *testing.T) { testMultiply[float32](t, s) })
	t.Run("multiply/float64", func(t *testing.T) { testMultiply[float64](t, s) })
	t.Run("multiply/int64", func(t *testing.T) { testMultiply[int64](t, s) })
	t.Run("copy and zero/float32", func(t *testing.T) { testCopyAndZero[float32](t, s) })
	t.Run("copy and zero/float64", func(t *testing.T) { testCopyAndZero[float64](t, s) })
	t.Run("copy and zero/int64", func(t *testing.T) { testCopyAndZero[int64](t, s) })
	t.Run("dots/float32", func(t *testing.T) { testDots[float32](t, s) })
	t.Run("dots/float64", func(t *testing.T) { testDots[float64](t, s) })
	t.Run("nan/float32", func(t *testing.T) { testDotsCarryNaN[float32](t, s) })
	t.Run("nan/float64", func(t *testing.T) { testDotsCarryNaN[float64](t, s) })
	for i, d := range s {
		t.Run(fmt.Sprintf("form %d", i), func(t *testing.T) {
			t.Run("axpby does not read what it overwrites", func(t *testing.T) { testOverwrite(t, d) })
			t.Run("axpby in place", func(t *testing.T) { testInPlace(t, d) })
			t.Run("dots in double precision", func(t *testing.T) { testDoublePrecision(t, d) })
			t.Run("dots of many pairs", func(t *testing.T) { testManyDots(t, d) })
			t.Run("slices of slices", func(t *testing.T) { testSlices(t, d) })
			t.Run("types", func(t *testing.T) { testTypes(t, d) })
			t.Run("upload and download", func(t *testing.T) { testUploadAndDownload(t, d) })
			t.Run("kernels of others", func(t *testing.T) { testRun(t, d) })
			t.Run("foreign buffers", func(t *testing.T) { testForeign(t, d) })
			t.Run("shapes", func(t *testing.T) { testShapes(t, d) })
		})
	}
}
