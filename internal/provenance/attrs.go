package provenance

import (
	"strings"
	"time"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Attrs are the record as root attributes, in a fixed order, empty fields left
// out: program, command, version, commit, go_version, hdf5_version, host,
// started, ranks, threads, engine, instruction_set, tables, device, communicator,
// mpi_library, reason, and for each input input_ROLE (its path) and input_ROLE_sha256.
func (r Record) Attrs() []h5.Attr {
	out := []h5.Attr{{Name: "program", Value: "lsm"}}
	for _, f := range r.fields() {
		switch to := f.to.(type) {
		case *string:
			if *to != "" {
				out = append(out, h5.Attr{Name: f.name, Value: *to})
			}
		case *int:
			if *to != 0 {
				out = append(out, h5.Attr{Name: f.name, Value: int64(*to)})
			}
		case *time.Time:
			if !to.IsZero() {
				out = append(out, h5.Attr{Name: f.name, Value: to.UTC().Format(time.RFC3339)})
			}
		}
	}
	for _, in := range r.Inputs {
		out = append(out,
			h5.Attr{Name: inputPrefix + in.Role, Value: in.Path},
			h5.Attr{Name: inputPrefix + in.Role + digestSuffix, Value: in.SHA256})
	}
	return out
}

const (
	inputPrefix  = "input_"
	digestSuffix = "_sha256"
)

type field struct {
	name string
	to   any // *string, *int or *time.Time
}

// fields is the one table of names, for both directions.
func (r *Record) fields() []field {
	return []field{
		{"command", &r.Command}, {"version", &r.Version}, {"commit", &r.Commit},
		{"go_version", &r.GoVersion}, {"hdf5_version", &r.HDF5Version}, {"host", &r.Host},
		{"started", &r.Started}, {"ranks", &r.Ranks}, {"threads", &r.Threads},
		{"engine", &r.Engine}, {"instruction_set", &r.ISA}, {"tables", &r.Tables}, {"device", &r.Device},
		{"communicator", &r.Communicator}, {"mpi_library", &r.MPI}, {"reason", &r.Reason},
	}
}

// FromAttrs reads a record back. Attributes that are none of a record's, or not
// of its types, are passed over: other programs may have added their own.
func FromAttrs(attrs []h5.Attr) Record {
	var r Record
	byName := map[string]any{}
	for _, a := range attrs {
		byName[a.Name] = a.Value
	}
	for _, f := range r.fields() {
		text, _ := byName[f.name].(string)
		switch to := f.to.(type) {
		case *string:
			*to = text
		case *int:
			n, _ := byName[f.name].(int64)
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
