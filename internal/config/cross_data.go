package config

import (
	"fmt"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// data checks what selects and weighs traces.
func (r *reader) data() {
	d := r.cfg.Data
	r.ascending("data.offset", d.Offset, "m")
	r.ascending("data.azimuth", d.Azimuth, "degrees")
	const offsets, times, taper = "data.mute_offsets", "data.mute_times", "data.mute_taper"
	if !r.good(offsets, times) {
		return
	}
	switch n := len(d.MuteOffsets); {
	case n != len(d.MuteTimes):
		r.clash(fmt.Sprintf("%s beside %d in data.mute_times, want a time for each offset", readable.Count(n, "value"), len(d.MuteTimes)), offsets, times)
	case n == 0 && r.good(taper) && encode(d.MuteTaper) != r.field(taper).Default:
		r.note("acts only with data.mute_offsets and data.mute_times", taper)
	default:
		for i := 1; i < n; i++ {
			if a, b := d.MuteOffsets[i-1], d.MuteOffsets[i]; a >= b {
				r.clash(fmt.Sprintf("%g is followed by %g m, want ascending offsets", a, b), offsets)
				return
			}
		}
	}
}

// ascending refuses a range whose ends are the wrong way round.
func (r *reader) ascending(key string, ends []float64, unit string) {
	if r.good(key) && len(ends) == 2 && !slices.IsSorted(ends) {
		r.clash(fmt.Sprintf("smallest %g lies above largest %g %s", ends[0], ends[1], unit), key)
	}
}

// surface checks the keys of the topography.
func (r *reader) surface() {
	const surface, file, taper = "image.surface", "image.surface_file", "image.surface_taper"
	if !r.good(surface, file) {
		return
	}
	im := r.cfg.Image
	switch {
	case im.Surface == "file" && !im.SurfaceFile.IsSet():
		r.clash(`missing, image.surface = "file" needs the path of a file with the dataset /surface`, file, surface)
	case im.Surface != "file" && im.SurfaceFile.IsSet():
		r.note(fmt.Sprintf("not read by image.surface = %s", quote(im.Surface)), file)
	}
	if im.Surface == "none" && im.SurfaceTaper > 0 {
		r.note(`acts only with image.surface = "survey" or "file"`, taper)
	}
}
