package wavelet

import (
	"fmt"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/dist"
)

// Convolution convolves each trace of a vector of data, [traces, nt] on the host, with one of
// several wavelets, cut to the trace's samples. It is a linear operator with its exact adjoint,
// in double precision inside. Traces stay on their rank, so that its bits do not depend on ranks.
type Convolution struct {
	layout  *dist.Layout
	nt      int
	of      []int32 // which wavelet each trace of this rank has
	threads int

	n       int            // samples of the transform
	spectra [][]complex128 // of the wavelets, with their time zero at sample 0, over n
}

// NewConvolution is that of vectors of a layout. of says which wavelet each trace of this rank
// has. Set must be called before it is applied.
func NewConvolution(l *dist.Layout, nt int, of []int32, threads int) *Convolution {
	if len(of)*nt != l.N {
		panic(fmt.Sprintf("wavelet: %d traces of %d samples in a part of %d", len(of), nt, l.N))
	}
	return &Convolution{layout: l, nt: nt, of: of, threads: threads}
}

// Set takes the taps of the wavelets, all of one length, of which number zero is at lag 0.
func (c *Convolution) Set(taps [][]float64, zero int) {
	if n := fast(c.nt + len(taps[0])); n != c.n {
		c.n, c.spectra = n, nil
	}
	fft, x := fourier.NewFFT(c.n), make([]float64, c.n)
	c.spectra = c.spectra[:0]
	for _, h := range taps {
		clear(x)
		for j, v := range h {
			x[((j-zero)%c.n+c.n)%c.n] += v / float64(c.n)
		}
		c.spectra = append(c.spectra, fft.Coefficients(nil, x))
	}
}

// Operator is the convolution, from and to vectors of its layout.
func (c *Convolution) Operator() dist.Operator {
	return dist.Map("convolution", c.layout, c.layout,
		func(w *dist.Work, dst, src *dist.Vector) { w.Do(func() error { return c.apply(dst, src, false) }) },
		func(w *dist.Work, dst, src *dist.Vector) { w.Do(func() error { return c.apply(dst, src, true) }) })
}

func (c *Convolution) apply(dst, src *dist.Vector, adjoint bool) error {
	defer src.Device().Mark("convolution")()
	switch c.layout.Type {
	case device.F32:
		convolve(c, device.Slice[float32](dst.Buf), device.Slice[float32](src.Buf), adjoint)
	case device.F64:
		convolve(c, device.Slice[float64](dst.Buf), device.Slice[float64](src.Buf), adjoint)
	default:
		return fmt.Errorf("wavelet: cannot convolve traces of type %v", c.layout.Type)
	}
	return nil
}

// convolve goes through the traces, each thread through some of them. The adjoint correlates.
func convolve[T float32 | float64](c *Convolution, dst, src []T, adjoint bool) {
	var all sync.WaitGroup
	for thread := range c.threads {
		all.Add(1)
		go func() {
			defer all.Done()
			fft, x, spectrum := fourier.NewFFT(c.n), make([]float64, c.n), make([]complex128, c.n/2+1)
			for i := thread; i < len(c.of); i += c.threads {
				for t, v := range src[i*c.nt : (i+1)*c.nt] {
					x[t] = float64(v)
				}
				clear(x[c.nt:])
				fft.Coefficients(spectrum, x)
				for k, h := range c.spectra[c.of[i]] {
					if adjoint {
						h = complex(real(h), -imag(h))
					}
					spectrum[k] *= h
				}
				fft.Sequence(x, spectrum)
				to := dst[i*c.nt : (i+1)*c.nt]
				for t := range to {
					to[t] = T(x[t])
				}
			}
		}()
	}
	all.Wait()
}
