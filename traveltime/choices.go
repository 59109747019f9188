package traveltime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Choice is a method as the configuration offers it: its name, what it does and what it
// needs.
type Choice struct {
	Name string
	Help string // one sentence without its period

	NeedsConstant bool // it takes one velocity, no model
	NeedsTables   bool // it takes times from given tables, only on their grid, a row for each source and receiver

	Domains []grid.Domain // of the images that it is for

	// InConstant names the method that gives the same times exactly where the velocity
	// is one constant; empty: this one.
	InConstant string

	make func(s Spec) (Method, error)
}

// Choices are all methods, in the order of the help.
var Choices = []Choice{
	{
		Name: "analytic", Help: "distance over velocity, for velocity.constant", NeedsConstant: true, Domains: []grid.Domain{grid.Depth},
		make: func(s Spec) (Method, error) { return NewAnalytic(s.Medium.Constant, s.Image) },
	},
	{
		Name: "eikonal", Help: "factored eikonal equation, second order, sources anywhere", InConstant: "analytic", Domains: []grid.Domain{grid.Depth},
		make: func(s Spec) (Method, error) { return newEikonalIn(s.Medium, s.Image) },
	},
	{
		Name: "rays", Help: "rays traced through a smoothed model, which also find later arrivals (traveltime.arrivals)", InConstant: "analytic", Domains: []grid.Domain{grid.Depth},
		make: func(s Spec) (Method, error) { return newRaysIn(s.Medium, s.Image, s.Rays) },
	},
	{
		Name: "table", Help: "read from traveltime.file", NeedsTables: true, Domains: []grid.Domain{grid.Depth, grid.Time},
		make: func(s Spec) (Method, error) {
			if s.Arrivals > 0 {
				return NewArrivalTables(s.ArrivalRows, s.Arrivals, s.TablesGrid, s.Image)
			}
			return NewTable(s.Tables, s.TablesGrid, s.Image)
		},
	},
	{
		Name: "rms", Help: "closed form of time migration, for image.domain = \"time\": from the root-mean-square velocity and /eta, if the file has it, at each image point", Domains: []grid.Domain{grid.Time},
		make: func(s Spec) (Method, error) { return NewRMS(s.Medium, s.Image) },
	},
}

// Choose is the method of that name.
func Choose(name string) (Choice, error) {
	for _, c := range Choices {
		if c.Name == name {
			return c, nil
		}
	}
	return Choice{}, fmt.Errorf("traveltime: there is no method %q", name)
}

// TakesModel lists the methods that take any velocity model in depth, such as `"eikonal"`.
func TakesModel() string {
	var names []string
	for _, c := range Choices {
		if !c.NeedsConstant && !c.NeedsTables && slices.Contains(c.Domains, grid.Depth) {
			names = append(names, fmt.Sprintf("%q", c.Name))
		}
	}
	return strings.Join(names, ", ")
}

// Acting returns the method that computes the times: c, or its stand-in if the velocity
// is constant.
func (c Choice) Acting(constant bool) Choice {
	if constant && c.InConstant != "" {
		c, _ = Choose(c.InConstant)
	}
	return c
}

// Spec holds the inputs of the methods. Each method uses those that it needs.
type Spec struct {
	Image      grid.Grid // grid of the fields
	Medium     Medium
	Rays       RayOptions
	Tables     Rows // given tables, nil for none
	TablesGrid grid.Grid

	// Arrivals is the number of arrivals of given tables at each point; ArrivalRows then gives them
	// instead of Tables. 0: one, by Tables.
	Arrivals    int
	ArrivalRows ArrivalRows
}

// New returns the method of that name for s. In a constant velocity rays are straight:
// the eikonal method then gives way to the analytic one, whose Name the result has.
func New(name string, s Spec) (Method, error) {
	c, err := Choose(name)
	if err != nil {
		return nil, err
	}
	c = c.Acting(s.Medium.IsConstant())
	switch {
	case c.NeedsConstant && !s.Medium.IsConstant():
		return nil, status.Hint(status.Usage(fmt.Errorf("traveltime: method %q needs a constant velocity, not a model", c.Name)),
			"these methods take any velocity model: "+TakesModel())
	case c.NeedsTables && s.Tables == nil && s.Arrivals == 0:
		return nil, status.Usage(fmt.Errorf("traveltime: method %q needs a table file", c.Name))
	}
	return c.make(s)
}
