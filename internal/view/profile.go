package view

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Profile is a line of an array, from one end of an axis to the other.
type Profile struct {
	Values     []value `json:"values"`
	Deviation  []value `json:"deviation,omitempty"`  // standard deviation of each value
	Resolution []value `json:"resolution,omitempty"` // of each point
}

// longest is how many samples a profile has at most.
const longest = 1 << 17

// quantity is the quantity of the numbers of a dataset; its title says which. Curves of one
// quantity share a scale.
func quantity(name, title string) string {
	switch name {
	case "/image", "/reflectivity", "/gathers":
		return "amplitude"
	case "/data":
		return "amplitude of a trace"
	}
	if strings.HasSuffix(name, "_deviation") { // of an image
		return "amplitude"
	}
	return title
}

// judge gives the image the standard deviation and the resolution that the file has of it.
func (f *File) judge() {
	named := map[string]*h5.Dataset{}
	for _, a := range f.Arrays {
		named[a.Name] = a.data
	}
	for _, a := range f.Arrays {
		if a.Name == "/image" {
			a.deviation, a.resolution = named["/standard_deviation"], named["/resolution"]
		}
	}
}

// profiled returns an error where the array has no profile along an axis through a point.
func (a *Array) profiled(along int, at []int) error {
	if along < 0 || along >= len(a.Axes) {
		return fmt.Errorf("axis %d: want one of 0 to %d", along, len(a.Axes)-1)
	}
	if n := a.Axes[along].Size; n > longest {
		return fmt.Errorf("a profile along %s has %d samples: want %d at most", a.Axes[along].Name, n, longest)
	}
	return a.has(at)
}

// Profile reads the line through a point along an axis. at has an index for every axis; that of
// along does not matter.
func (a *Array) Profile(along int, at []int) (p Profile, err error) {
	if p.Values, err = a.line(a.data, along, at); err != nil {
		return p, err
	}
	if a.deviation != nil {
		if p.Deviation, err = a.line(a.deviation, along, at); err != nil {
			return p, err
		}
	}
	if a.resolution != nil {
		p.Resolution, err = a.line(a.resolution, along, at)
	}
	return p, err
}

// line reads a profile of one dataset.
func (a *Array) line(d *h5.Dataset, along int, at []int) ([]value, error) {
	var p h5.Part
	for i, index := range at {
		count := 1
		if i == along {
			index, count = 0, a.Axes[i].Size
		}
		p.First, p.Step, p.Count = append(p.First, index), append(p.Step, 1), append(p.Count, count)
	}
	v := make([]float32, p.Len())
	if err := h5.ReadPart(d, v, p); err != nil {
		return nil, err
	}
	out := make([]value, len(v))
	for i := range v {
		out[i] = value(v[i])
	}
	return out, nil
}

// value is a number that may be NaN or infinite, for which JSON has null.
type value float32

// MarshalJSON writes the shortest decimal that reads as the same float32.
func (v value) MarshalJSON() ([]byte, error) {
	if v-v != 0 {
		return []byte("null"), nil
	}
	return json.Marshal(float32(v))
}

// profile answers with a line of an array.
func (s *Server) profile(w http.ResponseWriter, r *http.Request) {
	p := &parser{q: r.URL.Query()}
	a, along := s.array(p), p.ints("along", 1)[0]
	var at []int
	if p.err == nil {
		at = p.ints("at", len(a.Axes))
	}
	if p.err == nil {
		p.err = a.profiled(along, at)
	}
	if p.err != nil {
		http.Error(w, p.err.Error(), http.StatusBadRequest)
		return
	}
	line, err := a.Profile(along, at)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(line)
}
