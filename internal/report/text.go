package report

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"unicode"

	"github.com/kirchhoff-lsm/lsm/internal/config"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
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

// typed are the things in the page's own words that a reader types.
var typed = regexp.MustCompile(`lsm [a-z]+( --[a-z]+)?|--[a-z]+( [A-Z]+| x,y,z)?|(output|solver)\.[a-z]+`)

// word is a stretch of text, as code or not.
type word struct {
	Text string
	Code bool
}

// words takes a text of the page's own apart.
func words(s string) (all []word) {
	done := 0
	for _, at := range typed.FindAllStringIndex(s, -1) {
		all = append(all, word{s[done:at[0]], false}, word{s[at[0]:at[1]], true})
		done = at[1]
	}
	return append(all, word{s[done:], false})
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// title says what was run and when, and the few numbers that matter.
func (r *Run) title(p *page) {
	rec := provenance.FromAttrs(r.Image.Attrs)
	p.Title = "Least-squares migration"
	if !r.solved() {
		p.Title = "Migration"
	}
	p.Subtitle = r.File
	if !rec.Started.IsZero() {
		p.Subtitle += ", started " + rec.Started.UTC().Format("2 January 2006, 15:04:05 MST")
	}
	if rec.Host != "" {
		p.Subtitle += " on " + rec.Host
	}
	add := func(name, value string) { p.Facts = append(p.Facts, fact{name, value}) }
	if h := r.Image.ResidualNorm; len(h) > 0 {
		add("iterations", fmt.Sprint(len(h)-1))
		if h[0] > 0 {
			add("residual left", percent(h[len(h)-1]/h[0]))
		}
	}
	add("image", r.Image.Grid.String())
	if text := r.velocityText(); text != "" {
		add("velocity", text)
	}
	if rec.Ranks > 0 && rec.Threads > 0 {
		add("ranks × threads", fmt.Sprintf("%d × %d", rec.Ranks, rec.Threads))
	}
	if r.Times != nil {
		add("time", readable.Duration(r.Times.Total))
	}
	if r.Log != nil && r.Log.Memory != nil {
		add("memory", readable.Bytes(r.Log.Memory.Max))
	}
	p.Made = strings.TrimSpace("lsm " + rec.Version)
}

// origin are the attributes of the file, inputs apart.
func (r *Run) origin(p *page) {
	isInput := map[string]bool{}
	p.Inputs = provenance.FromAttrs(r.Image.Attrs).Inputs
	for _, in := range p.Inputs {
		isInput["input_"+in.Role], isInput["input_"+in.Role+"_sha256"] = true, true
	}
	for _, a := range r.Image.Attrs {
		if !isInput[a.Name] {
			p.Origin = append(p.Origin, fact{strings.ReplaceAll(a.Name, "_", " "), fmt.Sprint(a.Value)})
		}
	}
}

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
		s.Raw = r.Image.Config
		s.Missing = "This version of lsm does not know all of this configuration; here it is as it stands in the file."
		return s
	}
	for _, f := range config.Fields() {
		if n := len(s.Sections); n == 0 || s.Sections[n-1].Name != f.Section {
			s.Sections = append(s.Sections, settingSection{Name: f.Section})
		}
		value := r.Config.Value(f.Name())
		k := setting{Key: f.Key, Value: value, Unit: f.Unit}
		if k.Changed = value != f.Default; k.Changed {
			s.Changed++
			k.Default = f.Default
		}
		last := &s.Sections[len(s.Sections)-1]
		last.Keys = append(last.Keys, k)
	}
	return s
}
