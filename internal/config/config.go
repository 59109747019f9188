package config

import (
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/velocity"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// WaveletFile is the file whose wavelet a run uses.
func (s Survey) WaveletFile() string {
	if s.Wavelet.IsSet() {
		return s.Wavelet.File
	}
	return s.File.File
}

// Path is the configuration file, as it was named to Load.
func (c *Config) Path() string { return c.path }

// Notes are remarks on settings that are allowed but perhaps not meant, such as a key
// that has no effect with the others.
func (c *Config) Notes() []Problem { return c.notes }

// Origin says where the value of a key came from: "default", "config.toml:12",
// the name of an environment variable, or "--set". The key is a full name such
// as "solver.damping".
func (c *Config) Origin(key string) string {
	o := c.origins[key]
	switch {
	case o.source == "":
		return "default"
	case strings.HasPrefix(o.source, "--set "):
		return "--set"
	case o.line > 0:
		return fmt.Sprintf("%s:%d", o.source, o.line)
	}
	return o.source
}

// File is a file that a configuration names.
type File struct {
	Key  string // such as "survey.file"
	Path Path
}

// Reads lists the files that a run reads, each of them set.
func (c *Config) Reads() []File {
	return c.files("survey.file", "survey.wavelet_file", "velocity.file", "velocity.receiver_file", "traveltime.file", "image.surface_file", "solver.start")
}

// Writes lists the files that a run writes, except its checkpoints, each of them set.
func (c *Config) Writes() []File {
	return c.files("output.file", "output.adjoint", "output.residual", "output.weights", "output.psf")
}

// files returns the files of those keys that are set and act. A table file that is not
// read may be the one that "lsm traveltime" writes.
func (c *Config) files(keys ...string) (list []File) {
	for _, key := range keys {
		f := table().field(key)
		if p := f.value(c).Interface().(Path); p.IsSet() && table().acts(f, c) {
			list = append(list, File{key, p})
		}
	}
	return list
}

// Value is the value of a key as TOML, in the form of TOML(); it panics if there
// is no such key.
func (c *Config) Value(key string) string {
	f := table().field(key)
	if f == nil {
		panic("config: no key " + Quote(key))
	}
	return f.encoded(c)
}

// Given reports whether the times are read from tables instead of computed.
func (t Traveltime) Given() bool {
	c, _ := traveltime.Choose(t.Method)
	return c.NeedsTables
}

// Converted reports whether waves are converted where they are reflected: whether those to
// the receivers have velocities of their own.
func (v Velocity) Converted() bool { return v.ReceiverFile.IsSet() || v.ReceiverConstant > 0 }

// Constants returns the constant velocities in m/s, 0 for none.
func (v Velocity) Constants() (source, receiver float64) {
	f := velocity.Factor(v.Units)
	return v.Constant * f, v.ReceiverConstant * f
}

// straight reports whether all rays are straight.
func (v Velocity) straight() bool { return v.Constant > 0 && !v.ReceiverFile.IsSet() }

// IsSet reports whether the section gives a grid.
func (i Image) IsSet() bool { return len(i.Shape) > 0 }

// LargestAngle is the largest angle of the kind of image.gather_angle, in degrees.
func (i Image) LargestAngle() float64 {
	if i.GatherAngle == "reflection" {
		return 90
	}
	return 180
}

// Grid is the grid of the section; only where IsSet. It shares the slices.
func (i Image) Grid() grid.Grid {
	domain, _ := grid.ParseDomain(i.Domain) // one of the key's choices
	return grid.Grid{Origin: i.Origin, Spacing: i.Spacing, Shape: i.Shape, Domain: domain}
}
