package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
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
	live    bool   // stands uncommented in the template
	scalar  bool   // a lone number stands for a list of one
	traces  string // tracesSame, tracesOnce or ""
	with    string // "key=value" of the key without which it does not act
	limits  interval
	index   [2]int // of the section in Config, of the key in the section
}

// Name is the full name, such as "solver.damping".
func (f *Field) Name() string { return f.Section + "." + f.Key }

// section is one section of the table.
type section struct {
	name, help string
	fields     []*Field
}

// table is the table of fields, in the order of sections.go.
type table struct{ sections []section }

// Fields lists every key in the order of the template.
func Fields() []Field {
	var all []Field
	for _, f := range newTable().fields() {
		all = append(all, *f)
	}
	return all
}

// newTable reads the tags. A tag that makes no sense is a fault of the program
// and panics; the tests build the table.
func newTable() *table {
	t := &table{}
	config := reflect.TypeFor[Config]()
	for i := range config.NumField() {
		sf := config.Field(i)
		if !sf.IsExported() {
			continue
		}
		s := section{name: sf.Tag.Get("toml"), help: sf.Tag.Get("help")}
		for j := range sf.Type.NumField() {
			f := newField(s.name, sf.Type.Field(j))
			f.index = [2]int{i, j}
			s.fields = append(s.fields, f)
		}
		t.sections = append(t.sections, s)
	}
	return t
}

func newField(section string, sf reflect.StructField) *Field {
	tag := sf.Tag.Get
	f := &Field{
		Section:  section,
		Key:      tag("toml"),
		Type:     typeName(sf.Type),
		Unit:     tag("unit"),
		Required: tag("required") == "yes",
		Help:     tag("help"),
		example:  tag("example"),
		deflt:    tag("default"),
		live:     tag("live") == "yes" || tag("required") == "yes",
		scalar:   tag("scalar") == "yes",
		traces:   tag("traces"),
		with:     tag("with"),
		limits:   parseInterval(tag("range")),
	}
	f.Range = f.limits.String()
	f.Env = "LSM_" + strings.ToUpper(f.Section+"_"+f.Key)
	f.Choices = splitList(tag("choices"))
	f.also = splitList(tag("also"))
	for _, s := range splitList(tag("len")) {
		if s == "any" {
			break
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			panic(fmt.Sprintf("config: %s: bad tag len: %q", f.Name(), s))
		}
		f.Lengths = append(f.Lengths, n)
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

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[string]():
		return "text"
	case reflect.TypeFor[Path]():
		return "path"
	case reflect.TypeFor[bool]():
		return "bool"
	case reflect.TypeFor[int]():
		return "integer"
	case reflect.TypeFor[float64]():
		return "number"
	case reflect.TypeFor[[]int]():
		return "integers"
	case reflect.TypeFor[[]float64]():
		return "numbers"
	}
	panic(fmt.Sprintf("config: no field may have type %v", t))
}

func (t *table) section(name string) *section {
	for i := range t.sections {
		if t.sections[i].name == name {
			return &t.sections[i]
		}
	}
	return nil
}

func (s *section) field(key string) *Field {
	for _, f := range s.fields {
		if f.Key == key {
			return f
		}
	}
	return nil
}

// field finds a field by its full name, nil if there is none.
func (t *table) field(name string) *Field {
	sec, key, _ := strings.Cut(name, ".")
	if s := t.section(sec); s != nil {
		return s.field(key)
	}
	return nil
}

func (t *table) fields() []*Field {
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
