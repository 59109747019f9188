package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Field describes one key: a row of the table of sections.go.
type Field struct {
	Section  string   `json:"section"`
	Key      string   `json:"key"`
	Type     string   `json:"type"`              // "text", "path", "bool", "integer", "number", "integers", "numbers"
	Default  string   `json:"default"`           // as TOML; empty for a required key
	Unit     string   `json:"unit,omitempty"`    // such as "m/s"
	Range    string   `json:"range,omitempty"`   // such as "0 or more"
	Choices  []string `json:"choices,omitempty"` // for texts
	Lengths  []int    `json:"lengths,omitempty"` // for lists; none: any
	Required bool     `json:"required,omitempty"`
	Env      string   `json:"environment"` // name of its environment variable
	Help     string   `json:"help"`

	example string // raw, as in the tag
	deflt   string // raw, as in the tag
	also    []string
	first   string            // what it is, in a line, for one of the keys that matter first
	live    bool              // stands uncommented in the template
	scalar  bool              // a lone number stands for a list of one
	traces  string            // tracesSame, tracesOnce or ""
	truth   [2]string         // texts that false and true stand for; empty: none
	was     map[string]string // values in files of earlier versions, as TOML, and what they mean now
	with    string            // condition without which it does not act
	order   string            // of the values of a list: "ascending", "sorted" or ""
	lowest  float64
	highest float64
	above   bool   // lowest itself is not allowed
	index   [2]int // of the section in Config, of the key in the section
}

// Name is the full name, such as "solver.damping".
func (f *Field) Name() string { return f.Section + "." + f.Key }

// section is one section of the table.
type section struct {
	name, help string
	fields     []*Field
}

// fieldTable is the table of fields, in the order of sections.go.
type fieldTable struct{ sections []*section }

// Fields lists every key in the order of the template.
func Fields() []Field {
	var all []Field
	for _, f := range table().fields() {
		all = append(all, *f)
	}
	return all
}

// table is the table of fields, made of the tags. A tag that makes no sense is a fault
// of the program and panics.
var table = sync.OnceValue(func() *fieldTable {
	t := &fieldTable{}
	config := reflect.TypeFor[Config]()
	for i := range config.NumField() {
		sf := config.Field(i)
		if !sf.IsExported() {
			continue
		}
		s := &section{name: sf.Tag.Get("toml"), help: sf.Tag.Get("help")}
		for j := range sf.Type.NumField() {
			f := newField(s.name, sf.Type.Field(j))
			f.index = [2]int{i, j}
			s.fields = append(s.fields, f)
		}
		t.sections = append(t.sections, s)
	}
	return t
})

// typeNames are the types that a key may have.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[string]():    "text",
	reflect.TypeFor[Path]():      "path",
	reflect.TypeFor[bool]():      "bool",
	reflect.TypeFor[int]():       "integer",
	reflect.TypeFor[float64]():   "number",
	reflect.TypeFor[[]int]():     "integers",
	reflect.TypeFor[[]float64](): "numbers",
}

func newField(section string, sf reflect.StructField) *Field {
	tag := sf.Tag.Get
	f := &Field{
		Section:  section,
		Key:      tag("toml"),
		Type:     typeNames[sf.Type],
		Unit:     tag("unit"),
		Choices:  splitList(tag("choices")),
		Required: tag("required") == "yes",
		Help:     tag("help"),
		example:  tag("example"),
		first:    tag("first"),
		deflt:    tag("default"),
		also:     splitList(tag("also")),
		live:     tag("live") == "yes" || tag("required") == "yes",
		scalar:   tag("scalar") == "yes",
		traces:   tag("traces"),
		truth:    [2]string{tag("false"), tag("true")},
		with:     tag("with"),
		order:    tag("order"),
	}
	f.Env = "LSM_" + environmentName(f.Name())
	if f.Type == "" {
		panic(fmt.Sprintf("config: %s: no field may have type %v", f.Name(), sf.Type))
	}
	for _, s := range splitList(tag("was")) {
		old, now, _ := strings.Cut(s, "=")
		f.was = map[string]string{old: now}
	}
	var offered []string
	for _, c := range registries[f.Name()] {
		f.Choices = append(f.Choices, c.Name)
		offered = append(offered, c.Name+": "+c.Help+".")
	}
	f.Help = strings.ReplaceAll(f.Help, "{choices}", strings.Join(offered, " "))
	f.setRange(tag("range"))
	if lengths := tag("len"); lengths != "any" {
		for _, s := range splitList(lengths) {
			n, err := strconv.Atoi(s)
			if err != nil {
				panic(fmt.Sprintf("config: %s: bad tag len: %q", f.Name(), lengths))
			}
			f.Lengths = append(f.Lengths, n)
		}
	}
	if !f.Required {
		v, found := f.parse(f.deflt)
		if found != "" {
			panic(fmt.Sprintf("config: %s: bad default %q: want %s, found %s", f.Name(), f.deflt, f.want(), found))
		}
		f.Default = encode(v)
	}
	return f
}

// setRange reads the tag range: "[0,1e6]", "(0,)" without 0 itself, or nothing.
func (f *Field) setRange(tag string) {
	f.lowest, f.highest = math.Inf(-1), math.Inf(1)
	if tag == "" {
		return
	}
	f.above = tag[0] == '('
	lowest, highest, two := strings.Cut(strings.Trim(tag, "[]()"), ",")
	var err error
	if f.lowest, err = strconv.ParseFloat(lowest, 64); err == nil && highest != "" {
		f.highest, err = strconv.ParseFloat(highest, 64)
	}
	if err != nil || !two {
		panic(fmt.Sprintf("config: %s: bad tag range: %q", f.Name(), tag))
	}
	switch {
	case f.above && highest == "":
		f.Range = "above " + lowest
	case f.above:
		f.Range = "above " + lowest + ", up to " + highest
	case highest == "":
		f.Range = lowest + " or more"
	default:
		f.Range = "from " + lowest + " to " + highest
	}
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// section finds a section by its name, nil if there is none.
func (t *fieldTable) section(name string) *section {
	return find(t.sections, func(s *section) bool { return s.name == name })
}

// field finds a field of the section by its key, nil if there is none.
func (s *section) field(key string) *Field {
	return find(s.fields, func(f *Field) bool { return f.Key == key })
}

func find[T any](list []*T, fits func(*T) bool) *T {
	if i := slices.IndexFunc(list, fits); i >= 0 {
		return list[i]
	}
	return nil
}

// field finds a field by its full name, nil if there is none.
func (t *fieldTable) field(name string) *Field {
	sec, key, _ := strings.Cut(name, ".")
	if s := t.section(sec); s != nil {
		return s.field(key)
	}
	return nil
}

func (t *fieldTable) fields() []*Field {
	var all []*Field
	for _, s := range t.sections {
		all = append(all, s.fields...)
	}
	return all
}

// value is the place of the field in c.
func (f *Field) value(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().Field(f.index[0]).Field(f.index[1])
}

// encoded is the value of the field in c as TOML.
func (f *Field) encoded(c *Config) string { return encode(f.value(c).Interface()) }
