// Package provenance records how an output came about, so that the output alone
// answers which program made it, from what, where, and why it stopped.
//
// A [Record] becomes the root attributes of an image or survey file, flat and
// in a fixed order, and is read back from them. The resolved configuration and
// the convergence history are datasets of the image file (see docs/format.md).
package provenance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Record holds the facts about one run. Empty fields are left out of a file; the tags are
// the names of the attributes.
type Record struct {
	Command      string    `attr:"command"`      // "run", "migrate", ...
	Version      string    `attr:"version"`      // of the program
	Commit       string    `attr:"commit"`       // hash, with "-dirty" if the tree had uncommitted changes
	GoVersion    string    `attr:"go_version"`   // such as "go1.24.1"
	HDF5Version  string    `attr:"hdf5_version"` // such as "1.10.8"
	Host         string    `attr:"host"`         // of rank 0
	Started      time.Time `attr:"started"`      // stored in UTC, to the second
	Ranks        int       `attr:"ranks"`
	Threads      int       `attr:"threads"`         // per rank
	Engine       string    `attr:"engine"`          // "reference", "cpu", "cuda", "hip"
	Choice       string    `attr:"engine_choice"`   // the engine that kirchhoff.engine = "auto" took on a machine with a GPU, and why; "" without a choice
	ISA          string    `attr:"instruction_set"` // instruction set of the cpu's kernels: "avx512", "avx2", "portable"; "" on a GPU
	Tables       string    `attr:"tables"`          // precision of the traveltime tables: "exact" or "coarse"
	Device       string    `attr:"device"`          // name of the GPU; "" for none
	Communicator string    `attr:"communicator"`    // "self", "mpi", "nccl", "rccl", with its library's version if known
	MPI          string    `attr:"mpi_library"`     // the MPI library, such as "Open MPI 4.1.4"; "" for none
	Inputs       []Input
	Reason       string `attr:"reason"` // why the run stopped, such as "stopped_iterations"
}

// Set by the linker, from git; see the Makefile.
var (
	version = "1.0.0+source"
	commit  = ""
)

// Build says which build of the program this is. The commit comes from the linker, or
// from Go's own stamp; it is "" where neither knows it.
func Build() (programVersion, programCommit string) {
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		return version, stamp(info)
	}
	return version, commit
}

// stamp is the commit of a build, with "-dirty" if the tree had uncommitted changes.
func stamp(info *debug.BuildInfo) (commit string) {
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if commit == "" {
		return ""
	}
	return commit + dirty
}

// New returns a record with everything filled in that the process knows of
// itself, started now, or at [Epoch] and then on no host.
func New(command string) Record {
	r := Record{
		Command:   command,
		GoVersion: runtime.Version(), HDF5Version: h5.LibraryVersion(),
		Started: time.Now().UTC().Truncate(time.Second),
	}
	r.Version, r.Commit = Build()
	if epoch, set, _ := Epoch(); set {
		r.Started = epoch
	} else {
		r.Host, _ = os.Hostname() // a machine without a name has none to record
	}
	return r
}

// Attrs are the record as root attributes, in the order of the fields, empty ones left
// out: program, then those that the tags name, then for each input input_ROLE (its path)
// and input_ROLE_sha256.
func (r Record) Attrs() []h5.Attr {
	out := []h5.Attr{{Name: "program", Value: "lsm"}}
	for name, to := range r.fields {
		var value any
		switch to := to.(type) {
		case *string:
			value = *to
		case *int:
			value = int64(*to)
		case *time.Time:
			value = to.UTC().Format(time.RFC3339)
		}
		if !reflect.ValueOf(to).Elem().IsZero() {
			out = append(out, h5.Attr{Name: name, Value: value})
		}
	}
	for _, in := range r.Inputs {
		out = append(out, in.Attrs()...)
	}
	return out
}

// Attrs are the attributes that tell of an input.
func (in Input) Attrs() []h5.Attr {
	name := inputPrefix + in.Role
	return []h5.Attr{{Name: name, Value: in.Path}, {Name: name + digestSuffix, Value: in.SHA256}}
}

const (
	inputPrefix  = "input_"
	digestSuffix = "_sha256"
)

// fields yields the names of attributes and pointers to the fields that they fill.
func (r *Record) fields(yield func(name string, to any) bool) {
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Tag.Get("attr"); name != "" && !yield(name, v.Field(i).Addr().Interface()) {
			return
		}
	}
}

// FromAttrs reads a record back. Attributes that a record does not have, or has with another type,
// are ignored: other programs may have added their own.
func FromAttrs(attrs []h5.Attr) Record {
	var r Record
	byName := map[string]any{}
	for _, a := range attrs {
		byName[a.Name] = a.Value
	}
	for name, to := range r.fields {
		text, _ := byName[name].(string)
		switch to := to.(type) {
		case *string:
			*to = text
		case *int:
			n, _ := byName[name].(int64)
			*to = int(n)
		case *time.Time:
			*to, _ = time.Parse(time.RFC3339, text)
		}
	}
	for _, a := range attrs {
		role, ok := strings.CutPrefix(a.Name, inputPrefix)
		path, isText := a.Value.(string)
		if !ok || !isText || strings.HasSuffix(role, digestSuffix) {
			continue
		}
		sum, _ := byName[a.Name+digestSuffix].(string)
		r.Inputs = append(r.Inputs, Input{Role: role, Path: path, SHA256: sum})
	}
	return r
}

// Others returns the attributes that a record does not have, for a file that is made from this one.
func Others(attrs []h5.Attr) (out []h5.Attr) {
	own := map[string]bool{"program": true}
	for name := range new(Record).fields {
		own[name] = true
	}
	for _, a := range attrs {
		if !own[a.Name] && !strings.HasPrefix(a.Name, inputPrefix) {
			out = append(out, a)
		}
	}
	return out
}

// Input is a file that a run read.
type Input struct {
	Role   string // what it was for: "survey", "velocity", "traveltime", ...
	Path   string // as configured
	SHA256 string // of the whole file or folder, hexadecimal
}

// Hash reads a file once, in small pieces, and returns its digest. The digest of a folder covers
// the names, sizes and contents of its files, in order of the names.
func Hash(role, path string) (Input, error) {
	h := sha256.New()
	add := func(path string) error {
		f, err := plainfile.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(h, f)
		return err
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(path, file) // it is inside
			fmt.Fprintf(h, "%s\x00%d\x00", filepath.ToSlash(name), info.Size())
			return add(file)
		})
	case err == nil:
		err = add(path)
	}
	if err != nil {
		return Input{}, fmt.Errorf("provenance: %w", err)
	}
	return Input{Role: role, Path: path, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

// Epoch is the time of SOURCE_DATE_EPOCH, whole seconds since 1970
// (https://reproducible-builds.org/specs/source-date-epoch): files then hold no other
// time. set reports whether the variable is there.
func Epoch() (t time.Time, set bool, err error) {
	const name = "SOURCE_DATE_EPOCH"
	text, set := os.LookupEnv(name)
	if !set || text == "" {
		return time.Time{}, false, nil
	}
	// The last second of the year 9999, beyond which RFC 3339 has no times.
	const most = 253402300799
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 || seconds > most {
		return time.Time{}, true, fmt.Errorf("%s is %q, want whole seconds since 1970, 0 to %d", name, text, most)
	}
	return time.Unix(seconds, 0).UTC(), true, nil
}

// Timeless reduces the record of a run under [Epoch] to facts on which the file's bits depend. It removes the number
// of threads and the reason for the choice of the engine. If the bits are the same on any ranks, it also removes the
// number of ranks and their libraries. Without an epoch it does nothing.
func (r *Record) Timeless(anyRanks bool) {
	if _, set, _ := Epoch(); !set {
		return
	}
	r.Threads, r.Choice = 0, ""
	if anyRanks {
		r.Ranks, r.Communicator, r.MPI = 0, "", ""
	}
}
