package h5

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/internal/machine"
	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

// A chunk is decompressed whole, however little of it is read. Traces in another order than that of
// the file are therefore read chunk by chunk, and put where they belong. If a caller reads a group
// at a time, and groups share chunks, [SurveyReader.Arrange] copies the traces once.

// Chunks says how the traces of a survey file lie in chunks: those of one cell are decompressed together.
// The zero value describes a file without traces.
type Chunks struct {
	traces        []int // of a cell along the axes before the last, nil where nothing is chunked
	nr, nt        int   // receivers of a source, for data of three axes; samples of a trace
	rows, columns int   // of the largest part that is read at a time: traces and samples
	kept          bool  // the library holds the cell that was read last
}

// Chunks returns the chunks of the file.
func (r *SurveyReader) Chunks() Chunks {
	d := r.data
	if d == nil {
		return Chunks{}
	}
	nt := r.header.NT
	c := Chunks{nr: d.shape[len(d.shape)-2], nt: nt, rows: max(1, stepBytes/4/nt), columns: nt}
	if len(d.store.chunk) < len(d.shape) {
		return c
	}
	c.traces = d.store.chunk[:len(d.shape)-1]
	one := 1
	for a, n := range c.traces {
		one *= min(n, d.shape[a])
	}
	c.rows, c.kept = max(c.rows, one), one <= mostCache/d.size/nt
	if wide := d.store.chunk[len(d.shape)-1]; one > max(1, mostCache/4/nt) && wide < nt {
		c.rows, c.columns = one, min(nt, max(wide, mostCache/4/one/wide*wide)) // whole chunks
	}
	return c
}

// Buffer is the most memory, in bytes, that reading the given number of traces takes besides, where they
// are not in the file's order.
func (c Chunks) Buffer(traces int) int64 { return 4 * int64(min(traces*c.nt, c.rows*c.columns)) }

// of is the number of the cell of a trace. Cells of a list of traces are numbered in the file's order.
func (c Chunks) of(trace int32) int {
	n := int(trace)
	switch len(c.traces) {
	case 0:
		return 0
	case 1:
		return n / c.traces[0]
	}
	across := (c.nr + c.traces[1] - 1) / c.traces[1]
	return n/c.nr/c.traces[0]*across + n%c.nr/c.traces[1]
}

// visits are how many cells the traces lie in, and the first and the last of these.
func (c Chunks) visits(traces []int32) (n, first, last int) {
	seen := make([]int, len(traces))
	for i, t := range traces {
		seen[i] = c.of(t)
	}
	slices.Sort(seen)
	seen = slices.Compact(seen)
	if len(seen) == 0 {
		return 0, -1, -1
	}
	return len(seen), seen[0], seen[len(seen)-1]
}

// ReadTraceList reads the listed traces, in their order, into dst, [len(traces), NT]. Runs of
// consecutive numbers are read together, and each chunk is decompressed once.
func (r *SurveyReader) ReadTraceList(dst []float32, traces []int32) error {
	nt := r.header.NT
	if r.copied != nil {
		return r.copied.read(dst, traces, nt)
	}
	if slices.IsSorted(traces) {
		return eachRun(traces, func(i, n int) error {
			return r.ReadTraces(dst[i*nt:(i+n)*nt], int(traces[i]), n)
		})
	}
	return r.scatter(traces, func(i, at int, part []float32) error {
		copy(dst[i*nt+at:], part)
		return nil
	})
}

// scatter reads the listed traces in the file's order and passes each to take, with its number in the
// list and the first of its samples, whole or, where chunks are large, in parts.
func (r *SurveyReader) scatter(traces []int32, take func(i, at int, part []float32) error) error {
	if r.data == nil {
		return inputError(r.path, "/data", "is missing")
	}
	if !r.trusted {
		if err := r.data.Verify(); err != nil {
			return err
		}
	}
	c := r.Chunks()
	order := make([]int32, len(traces))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		if by := c.of(traces[a]) - c.of(traces[b]); by != 0 {
			return by
		}
		return int(traces[a]) - int(traces[b])
	})
	buf := make([]float32, c.Buffer(len(order))/4) // grows where wanted traces lie apart
	for len(order) > 0 {
		n := c.together(traces, order)
		var err error
		if buf, err = r.readTogether(buf, traces, order[:n], c.columns, take); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

// together is how many of the first traces of the order are read at a time: all of a cell, and of cells
// that follow it, as far as a piece has room; without chunks, those between which little lies.
func (c Chunks) together(traces, order []int32) int {
	const gap = 16 << 10 // bytes that are read for nothing rather than left out
	first := traces[order[0]]
	for n := 1; n < len(order); n++ {
		last, next := traces[order[n-1]], traces[order[n]]
		same := c.of(last) == c.of(next)
		switch {
		case c.traces == nil && int(next-last)*4*c.nt > gap+4*c.nt,
			!same && len(c.traces) > 1,
			!same && c.of(next) > c.of(last)+1,
			(!same || c.traces == nil) && int(next-first) >= c.rows:
			return n
		}
	}
	return len(order)
}

// readTogether reads the smallest box that holds the traces, and passes them on. It returns the buffer,
// which may have grown.
func (r *SurveyReader) readTogether(buf []float32, traces, order []int32, columns int, take func(i, at int, part []float32) error) ([]float32, error) {
	nt, three := r.header.NT, len(r.data.shape) == 3
	index := func(t int32) [2]int {
		if three {
			return [2]int{int(t) / r.data.shape[1], int(t) % r.data.shape[1]}
		}
		return [2]int{0, int(t)}
	}
	low, high := index(traces[order[0]]), index(traces[order[0]])
	for _, i := range order {
		at := index(traces[i])
		for a := range at {
			low[a], high[a] = min(low[a], at[a]), max(high[a], at[a])
		}
	}
	count := [2]int{high[0] - low[0] + 1, high[1] - low[1] + 1}
	for at := 0; at < nt; at += columns {
		wide := min(columns, nt-at)
		p := Part{First: []int{low[0], low[1], at}, Step: []int{1, 1, 1}, Count: []int{count[0], count[1], wide}}
		if !three {
			p = Part{p.First[1:], p.Step[1:], p.Count[1:]}
		}
		if n := p.Len(); n > len(buf) {
			buf = make([]float32, n)
		}
		if err := ReadPart(r.data, buf[:p.Len()], p); err != nil {
			return buf, err
		}
		for _, i := range order {
			of := index(traces[i])
			from := ((of[0]-low[0])*count[1] + of[1] - low[1]) * wide
			part := buf[from : from+wide]
			if k := notFinite(part); k >= 0 {
				return buf, inputError(r.path, "/data", "trace %d has %g at sample %d, must be finite", traces[i], part[k], at+k)
			}
			if err := take(int(i), at, part); err != nil {
				return buf, err
			}
		}
	}
	return buf, nil
}

// copied are traces in a file of their own, in the order in which they are read.
type copied struct {
	file *os.File // without a name
	at   []int32  // of each trace of the survey, its place; -1: none
}

// wasteful is how often chunks may be decompressed, relative to once each, before the traces are copied.
const wasteful = 1.5

// Arrange prepares for reading the listed traces group by group: group i is traces[cuts[i]:cuts[i+1]]. If
// groups share chunks so that these would be decompressed again and again, it copies the traces once, in
// the order of the list, and returns the size of the copy in bytes. The copy is a file in the folder that
// has no name and ends with this process. [SurveyReader.ReadTraceList] then reads from there, and knows
// no other traces.
func (r *SurveyReader) Arrange(traces []int32, cuts []int, folder string) (size int64, err error) {
	if !r.Chunks().Scattered(traces, cuts) {
		return 0, nil
	}
	nt := r.header.NT
	size = 4 * int64(nt) * int64(len(traces))
	need := fmt.Errorf("its traces lie in chunks in another order than they are wanted in, and a copy in order needs %.3g GiB of disk", float64(size)/(1<<30))
	if free := machine.FreeDisk(folder); free > 0 && free < size {
		return 0, resourceError(folder, "", fmt.Errorf("%s: %w; %.3g GiB are free", r.path, need, float64(free)/(1<<30)))
	}
	file, err := os.CreateTemp(folder, ".lsm-traces-*")
	if err != nil {
		return 0, resourceError(folder, "", fmt.Errorf("%s: %w: %w", r.path, need, plainfile.Cause(err)))
	}
	os.Remove(file.Name())
	c := &copied{file: file, at: slices.Repeat([]int32{-1}, r.header.NumTraces())}
	for i, t := range traces {
		c.at[t] = int32(i)
	}
	err = r.scatter(traces, func(i, at int, part []float32) error {
		if _, err := file.WriteAt(rawBytes(part), 4*(int64(i)*int64(nt)+int64(at))); err != nil {
			return resourceError(folder, "", fmt.Errorf("%s: %w: %w", r.path, need, plainfile.Cause(err)))
		}
		return nil
	})
	if err != nil {
		file.Close()
		return 0, err
	}
	r.copied = c
	return size, nil
}

// Scattered reports whether reading traces group by group, as [SurveyReader.Arrange] has it, decompresses
// chunks far more than once.
func (c Chunks) Scattered(traces []int32, cuts []int) bool {
	if c.traces == nil || len(cuts) < 3 {
		return false
	}
	once, _, _ := c.visits(traces)
	times, before := 0, -1
	for i := range len(cuts) - 1 {
		n, first, last := c.visits(traces[cuts[i]:cuts[i+1]])
		if c.kept && first == before {
			n--
		}
		times, before = times+n, last
	}
	return float64(times) > wasteful*float64(once)
}

func (c *copied) read(dst []float32, traces []int32, nt int) error {
	places := make([]int32, len(traces))
	for i, t := range traces {
		if places[i] = c.at[t]; places[i] < 0 {
			panic(fmt.Sprintf("h5: trace %d was not arranged", t))
		}
	}
	return eachRun(places, func(i, n int) error {
		_, err := c.file.ReadAt(rawBytes(dst[i*nt:(i+n)*nt]), 4*int64(places[i])*int64(nt))
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return resourceError(c.file.Name(), "", fmt.Errorf("the copy of the traces cannot be read: %w", plainfile.Cause(err)))
		}
		return nil
	})
}

// rawBytes are the bytes of numbers, as this machine has them.
func rawBytes(x []float32) []byte {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), 4*len(x))
}

// Close closes the file, and drops the copy of its traces.
func (r *SurveyReader) Close() error {
	if r.copied != nil {
		r.copied.file.Close()
		r.copied = nil
	}
	return r.File.Close()
}
