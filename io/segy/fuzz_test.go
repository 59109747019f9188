package segy

import (
	"errors"
	"testing"
)

// FuzzRead reads whatever bytes: it must end, without a panic, with traces or an
// error that says that the file is damaged.
func FuzzRead(f *testing.F) {
	for major := range 3 {
		for _, order := range []Order{Big, Little} {
			f.Add(made(f, Spec{Major: major, Order: order, Format: IBM32, Samples: 9, Interval: 4000}, 2), false)
		}
	}
	f.Add(made(f, Spec{Kind: SU, Samples: 9, Interval: 4000}, 3), true)
	f.Fuzz(func(t *testing.T, b []byte, su bool) {
		opt := Options{}
		if su {
			opt.Kind = SU
		}
		file, err := open(b, opt)
		if err == nil {
			var all []Trace
			all, err = readAll(file)
			total := 0
			for _, tr := range all {
				total += len(tr.Header) + tr.NS*file.Format.Bytes()
			}
			if total > len(b) {
				t.Fatalf("%d bytes of traces in %d", total, len(b))
			}
		}
		if fault := new(*Error); err != nil && !errors.As(err, fault) {
			t.Fatalf("error %v is no *Error", err)
		}
	})
}
