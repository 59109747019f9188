package fielddata

import (
	"fmt"
	"math"
	"path/filepath"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/internal/counts"
	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// shortTrace is a length that every machine holds.
const shortTrace = 1 << 20

// longestTrace is the longest trace that the memory holds: about 32 bytes a sample are
// needed to read one, move it and write it.
func longestTrace() int {
	room := machine.Room()
	if room == 0 {
		return 0
	}
	return int(min(math.MaxInt32, max(shortTrace, room/32)))
}

// grow makes room for another record. Records take a few hundred bytes a trace, twice
// that while they move, and as much for the list of traces that are left out.
func (in *input) grow() error {
	if len(in.records) < cap(in.records) {
		return nil
	}
	n := max(1024, cap(in.records)+cap(in.records)/2)
	if known := in.File.Traces(); known >= 0 {
		n = len(in.records) + int(known)
	}
	if err := counts.Fit(fmt.Sprintf("%s: a list of %d traces", in.File.Path, n), float64(n)*float64(unsafe.Sizeof(record{})+2*unsafe.Sizeof(Left{}))); err != nil {
		return err
	}
	in.records = append(make([]record, 0, n), in.records...)
	return nil
}

// Room compares the survey that would be written to path with the memory and the disk
// that there are.
func (im *Import) Room(path string) error {
	nt, kept := int64(im.NT), int64(im.QC.Kept)
	// The time axis in float64; a piece of traces; a trace that is moved; indices.
	most := max(1, pieceSamples/nt)
	need := 16*nt + 4*nt*min(most, kept) + 32*kept
	hint := ""
	if im.opt.NT > 0 {
		hint = fmt.Sprintf("--samples %d asks for it", im.opt.NT)
	}
	if err := counts.Fit(fmt.Sprintf("%s: a survey of %d samples a trace", path, nt), float64(need)); err != nil {
		return status.Hint(err, hint)
	}
	return status.Hint(enoughDisk(path, float64(nt)*float64(kept)*4), hint)
}

// enoughDisk returns an error if the file system has no room for an output.
func enoughDisk(path string, bytes float64) error {
	folder := filepath.Dir(path)
	if target, err := filepath.EvalSymlinks(path); err == nil { // an earlier output, perhaps on another disk
		folder = filepath.Dir(target)
	}
	if free := machine.FreeDisk(folder); free > 0 && bytes > float64(free) || bytes > math.MaxInt64/8 {
		return status.Resource(fmt.Errorf("%s: takes %s, its folder has %s left", path, readable.Bytes(int64(min(bytes, math.MaxInt64/2))), readable.Bytes(free)))
	}
	return nil
}
