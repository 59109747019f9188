package report

import (
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// clean replaces what no page may hold: bytes that are not UTF-8 and control
// characters other than tab and line feed.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r != '\uFFFE' && r != '\uFFFF' && !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) {
			return r
		}
		return '\uFFFD'
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// number writes a value with four figures or so: 0.0361, 255.6, 90080, 1.2e+08.
func number(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e7 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// percent writes a fraction as "3.61 %".
func percent(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }

// bar is a share of the total as a width in percent.
func bar(percent float64) float64 { return math.Round(10*min(100, max(0, percent))) / 10 }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Origin are the attributes of the file, inputs apart.
func (r *Run) Origin() (origin []h5.Attr) {
	isInput := map[string]bool{}
	for _, in := range r.Record().Inputs {
		isInput["input_"+in.Role], isInput["input_"+in.Role+"_sha256"] = true, true
	}
	for _, a := range r.Image.Attrs {
		if !isInput[a.Name] {
			origin = append(origin, h5.Attr{Name: strings.ReplaceAll(a.Name, "_", " "), Value: a.Value})
		}
	}
	return origin
}

// settings are the keys of a configuration by section.
type settings struct {
	Sections []settingSection
	Changed  int // keys that do not have their default
}

type settingSection struct {
	Name string
	Keys []setting
}

// setting is one key with its value.
type setting struct {
	config.Field
	Value string
}

// Changed reports whether the value is not the default.
func (s setting) Changed() bool { return s.Value != s.Default }

// Settings are the keys of the run's configuration, which must be known.
func (r *Run) Settings() (s settings) {
	for _, f := range config.Fields() {
		if n := len(s.Sections); n == 0 || s.Sections[n-1].Name != f.Section {
			s.Sections = append(s.Sections, settingSection{Name: f.Section})
		}
		k := setting{f, r.Config.Value(f.Name())}
		if k.Changed() {
			s.Changed++
		}
		last := &s.Sections[len(s.Sections)-1]
		last.Keys = append(last.Keys, k)
	}
	return s
}
