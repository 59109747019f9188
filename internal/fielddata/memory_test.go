package fielddata

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/synth"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// A survey that neither memory nor disk holds is refused before it is begun, with
// status 4 and nothing left.
func TestNoRoomForTheSurvey(t *testing.T) {
	opt := DefaultOptions()
	opt.NT = math.MaxInt32
	var list []shot
	for i := range 1000 { // 8 TiB of samples
		list = append(list, shot{id: 1, sx: 1, rx: int64(2 + i), samples: wave(i, 50)})
	}
	im := read(t, opt, write(t, "a.sgy", plain, list...))
	path := filepath.Join(t.TempDir(), "survey.h5")
	err := im.Write(context.Background(), path, synth.Ricker(20, im.DT), h5.WriteOptions{}, progress.Discard())
	if status.Code(err) != status.NoResource || !strings.Contains(err.Error(), path+": ") || status.HintOf(err) != "--samples 2147483647 asks for it" {
		t.Errorf("status %d: %v (hint %q)", status.Code(err), err, status.HintOf(err))
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 0 {
		t.Errorf("%d files are left", len(list))
	}
	if err := im.ShotRoom(); err != nil && status.Code(err) != status.NoResource {
		t.Error(err)
	}
}

func TestNoRoomForTheExport(t *testing.T) {
	to := &target{spec: segy.Spec{Samples: math.MaxInt32, Format: segy.IEEE32}}
	if err := to.room("a.sgy", math.MaxInt32, math.MaxInt32); status.Code(err) != status.NoResource {
		t.Errorf("status %d: %v", status.Code(err), err)
	}
	to.spec.Samples = 1000
	if err := to.room("a.sgy", 1000, 10); err != nil {
		t.Error(err)
	}
}

// A wavelet is short.
func TestLongWavelet(t *testing.T) {
	path := write(t, "w.sgy", segy.Spec{Major: 2, Samples: longestWavelet + 1, Interval: 4000}, shot{id: 1})
	if _, err := ReadWavelet(path, -1, 0.004); status.Code(err) != status.BadInput || !strings.Contains(err.Error(), "trace 1 has 1048577 samples, the limit is 1048576: this is no wavelet") {
		t.Errorf("status %d: %v", status.Code(err), err)
	}
	// The delay of a wavelet has the scalar of times.
	path = write(t, "z.sgy", plain, shot{id: 1, delay: -400, more: map[segy.Field]int64{segy.TimeScalar: -10}})
	if w, err := ReadWavelet(path, -1, 0.004); err != nil || w.Zero != 10 {
		t.Errorf("zero %d, %v", w.Zero, err)
	}
}
