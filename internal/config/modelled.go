package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kirchhoff-lsm/lsm/traveltime"
)

// Values of the tag "traces", which says what a key has to do with the traces of a
// survey that this program writes.
const (
	tracesSame = "same" // an image needs the value that the traces were made with
	tracesOnce = "once" // it changes recorded traces, which a second time would spoil

	// An image needs converted waves if the traces were made with such, whatever their velocity.
	tracesConverted = "converted"
)

// Setting is a key with its value as TOML.
type Setting struct {
	Key   string // such as "kirchhoff.dynamic"
	Value string // such as "true"
}

// Modelled lists the settings that shape modelled traces, which a survey file remembers:
// the keys with the tag traces that act. With filtered it also lists those that have
// changed recorded traces.
func (c *Config) Modelled(filtered bool) []Setting {
	var list []Setting
	t := table()
	for _, f := range t.fields() {
		if f.traces == tracesSame && t.acts(f, c) || f.traces == tracesOnce && filtered || f.traces == tracesConverted {
			list = append(list, Setting{f.Name(), f.effective(c)})
		}
	}
	return list
}

// Differences says which of the settings that a survey remembers, in the form of
// Modelled, do not fit this configuration. Each text begins with the key. It skips a key
// that the survey does not mention or that does not act now, because the key on which it
// depends then differs.
func (c *Config) Differences(survey []Setting) (texts []string) {
	t := table()
	for _, s := range survey {
		f := t.field(s.Key)
		if f == nil {
			continue // of another version
		}
		was, now := s.Value, f.effective(c)
		if v, known := decodeValue(was); known {
			was = encode(f.meant(v))
		}
		if v, fault := f.parse(was); fault == "" && f.traces != tracesConverted {
			was = encode(v) // one spelling
		}
		switch {
		case f.traces == tracesConverted && was != now:
			texts = append(texts, fmt.Sprintf("%s: the survey's traces are of %s, those of this run of %s", s.Key, waves(was), waves(now)))
		case f.traces == tracesSame && t.acts(f, c) && was != now:
			texts = append(texts, fmt.Sprintf("%s: the survey's traces were made with %s, this run has %s: the image will not fit them as well as it could%s", s.Key, was, now, f.apart(was, now)))
		case f.traces == tracesOnce && was != f.Default:
			texts = append(texts, fmt.Sprintf("%s: %s was applied to the survey's traces before, but not to its wavelet, so no value fits them now (this run has %s)", s.Key, was, now))
		}
	}
	return texts
}

// meant is a decoded value of a record, which an earlier version may have written, as it is now.
func (f *Field) meant(value any) any {
	if now, old := f.was[encode(value)]; old && len(f.was) > 0 {
		return now
	}
	return value
}

// apart returns a remark on traces that were made with one value and a run with another.
func (f *Field) apart(was, now string) string {
	if f.Name() == "kirchhoff.wavelet_filter" && was != `"off"` && now != `"off"` {
		return ", and in 3-D it has the opposite polarity"
	}
	return ""
}

// effective is the value of the field in c as TOML, as it acts: the traveltime
// method is the one that computes the times. For converted waves it says whether waves are
// converted.
func (f *Field) effective(c *Config) string {
	if f.Name() == "traveltime.method" {
		if m, err := traveltime.Choose(c.Traveltime.Method); err == nil {
			return Quote(m.Acting(c.Velocity.straight()).Name)
		}
	}
	if f.traces == tracesConverted {
		return map[bool]string{true: converted, false: unconverted}[c.Velocity.Converted()]
	}
	return f.encoded(c)
}

// These values in a survey say whether its waves are converted.
const converted, unconverted = `"converted"`, `"none"`

func waves(remembered string) string {
	if remembered == converted {
		return "converted waves"
	}
	return "waves of one kind"
}

// Overridden are the keys whose value comes from the environment or from --set, in the
// order of the table.
func (c *Config) Overridden() []string {
	var keys []string
	for _, f := range table().fields() {
		if o, ok := c.origins[f.Name()]; ok && o.source != c.path {
			keys = append(keys, f.Name())
		}
	}
	return keys
}

// Amend writes settings into a TOML document. Each replaces the line that sets its key
// now, or becomes a new line of its section, or of a new section at the end. Every value of the
// document must be on one line.
func Amend(source string, settings []Setting) string {
	for _, s := range settings {
		section, key, _ := strings.Cut(s.Key, ".")
		line := key + " = " + s.Value
		lines := strings.Split(strings.TrimRight(source, "\n"), "\n")
		pos := locate(source)
		if at := pos.line(section, key); at > 0 {
			lines[at-1] = line
		} else if at := pos.line(section, ""); at > 0 {
			end := at // after the last line of the section that says anything
			for i := at; i < len(lines) && !strings.HasPrefix(lines[i], "["); i++ {
				if strings.TrimSpace(lines[i]) != "" {
					end = i + 1
				}
			}
			lines = slices.Insert(lines, end, line)
		} else {
			lines = append(lines, "", "["+section+"]", line)
		}
		source = strings.Join(lines, "\n") + "\n"
	}
	return source
}
