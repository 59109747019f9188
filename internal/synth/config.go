package synth

import (
	"fmt"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/readable"
)

// describe writes the configuration and the README.
func (c *Case) describe() {
	o, s := c.Options, c.Survey
	var b strings.Builder
	p := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }

	p("# %s: %s.", c.Name, c.Title)
	p("# %s, %s of %d samples at %s ms; %v.", readable.Count(s.NumSources(), "shot"), readable.Count(s.NumTraces(), "trace"), s.NT, readable.Time(1e3*s.DT), c.Grid)
	p("# Image it with `lsm run %s`; the answer is in %s.", ConfigFile, ReflectivityFile)
	p("")
	p("[survey]")
	p("file = %q               # data, geometry, %g Hz Ricker wavelet", SurveyFile, o.Peak)
	p("")
	p("[velocity]")
	if v, same := c.uniform(); same {
		p("constant = %s", decimal(v))
		p("")
		p("[image]                          # a constant velocity has no grid of its own")
		p("origin  = %s", decimals(c.Grid.Origin))
		p("spacing = %s", decimals(c.Grid.Spacing))
		p("shape   = %s", strings.ReplaceAll(fmt.Sprint(c.Grid.Shape), " ", ", "))
		p("")
		p("[traveltime]")
		p("method = \"analytic\"              # straight rays")
	} else {
		if o.Smoothing > 0 {
			p("file = %q                # true velocity with its slowness smoothed over %g m", ModelFile, o.Smoothing)
		} else {
			p("file = %q                # the true velocity", ModelFile)
		}
		p("")
		if c.Surface != nil {
			p("[image]")
			p("surface = \"survey\"               # no image above the stations")
			p("")
		}
		p("[traveltime]")
		p("method = \"eikonal\"               # first arrivals")
	}
	p("")
	p("[kirchhoff]")
	p("engine         = \"auto\"")
	p("dynamic        = false           # true: amplitude weights of the wave equation")
	p("wavelet_filter = true            # %s, so that a reflector images in phase", map[int]string{2: "half derivative", 3: "derivative"}[c.Grid.Dim()])
	p("")
	p("[solver]")
	p("method     = \"cgls\"")
	p("iterations = %d", o.Iterations)
	p("")
	p("[output]")
	p("file = %q", ImageFile)
	c.Config = b.String()

	b.Reset()
	p("# %s", c.Name)
	p("A synthetic survey: %s. %s, %s, %v.", c.Title, readable.Count(s.NumSources(), "shot"), readable.Count(s.NumTraces(), "trace"), c.Grid)
	p("`%s` holds the data, `%s` the smooth velocity to migrate with, `%s` the true velocity and `%s` the reflectivity that the data were made from.",
		SurveyFile, ModelFile, TrueModelFile, ReflectivityFile)
	p("")
	p("    lsm check %s", ConfigFile)
	p("    lsm run %s", ConfigFile)
	p("    lsm plot %s", ImageFile)
	c.Readme = b.String()
}

// uniform reports whether the velocity is the same everywhere.
func (c *Case) uniform() (float64, bool) {
	for _, v := range c.Smooth {
		if v != c.Smooth[0] {
			return 0, false
		}
	}
	return c.Smooth[0], true
}

// decimal writes a TOML float, which needs its point.
func decimal(v float64) string {
	s := fmt.Sprint(v)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func decimals(v []float64) string {
	var s []string
	for _, x := range v {
		s = append(s, decimal(x))
	}
	return "[" + strings.Join(s, ", ") + "]"
}
