package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Path is the configuration file, as it was named to Load.
func (c *Config) Path() string { return c.path }

// Notes are remarks on settings that are allowed and yet perhaps not meant,
// such as a key that has no effect beside the others.
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
	files := []File{
		{"survey.file", c.Survey.File},
		{"velocity.file", c.Velocity.File},
	}
	if c.Traveltime.Given() { // else it is not read, and "lsm traveltime" may write it
		files = append(files, File{"traveltime.file", c.Traveltime.File})
	}
	if c.Image.Surface == "file" {
		files = append(files, File{"image.surface_file", c.Image.SurfaceFile})
	}
	return named(append(files, File{"solver.start", c.Solver.Start}))
}

// Writes lists the files that a run writes, but for its checkpoints, each of them set.
func (c *Config) Writes() []File {
	return named([]File{
		{"output.file", c.Output.File},
		{"output.adjoint", c.Output.Adjoint},
		{"output.residual", c.Output.Residual},
		{"output.psf", c.Output.PSF},
	})
}

// named are the files that are set.
func named(files []File) []File {
	return slices.DeleteFunc(files, func(f File) bool { return !f.Path.IsSet() })
}

// Value is the value of a key as TOML, in the form of TOML(); it panics if there
// is no such key.
func (c *Config) Value(key string) string {
	f := newTable().field(key)
	if f == nil {
		panic("config: no key " + quote(key))
	}
	return encode(f.value(c).Interface())
}

// Given reports whether the times are read from tables instead of computed.
func (t Traveltime) Given() bool {
	c, _ := traveltime.Choose(t.Method)
	return c.NeedsTables
}

// IsSet reports whether the section gives a grid.
func (i Image) IsSet() bool { return len(i.Shape) > 0 }

// Grid is the grid of the section; only where IsSet. It shares the slices.
func (i Image) Grid() grid.Grid {
	return grid.Grid{Origin: i.Origin, Spacing: i.Spacing, Shape: i.Shape}
}
