package report

import (
	"github.com/kirchhoff-lsm/lsm/internal/config"
)

// settings is the section on the configuration.
type settings struct {
	Sections []settingSection
	Raw      string // shown as it stands where it cannot be read
	Changed  int
	Missing  string
}

type settingSection struct {
	Name string
	Keys []setting
}

// setting is one key. Default is "" for one that has its default.
type setting struct {
	Key, Value, Unit string
	Changed          bool
	Default          string
}

func (r *Run) settings() (s settings) {
	switch {
	case r.Image.Config == "":
		s.Missing = "No configuration: lsm run writes it into the image file."
		return s
	case r.Config == nil:
		s.Raw = clean(r.Image.Config)
		s.Missing = "This version of lsm does not know all of this configuration; here it is as it stands in the file."
		return s
	}
	for _, f := range config.Fields() {
		if n := len(s.Sections); n == 0 || s.Sections[n-1].Name != f.Section {
			s.Sections = append(s.Sections, settingSection{Name: f.Section})
		}
		value := r.Config.Value(f.Name())
		k := setting{Key: f.Key, Value: clean(value), Unit: f.Unit}
		if k.Changed = value != f.Default; k.Changed {
			s.Changed++
			k.Default = f.Default
		}
		last := &s.Sections[len(s.Sections)-1]
		last.Keys = append(last.Keys, k)
	}
	return s
}
