package config

import (
	"cmp"
	"fmt"
	"strings"
)

// textWidth is the width of help and template, for a terminal of 80 columns.
const textWidth = 78

// preface are the paragraphs on how a configuration is put together, for the help
// and the docs page.
var preface = []string{
	"The configuration is one TOML file. Units are SI (m, s, m/s), angles are degrees; coordinates are columns x z or x y z, and z points down.",
	"A key may also be given in the environment, as LSM_SECTION_KEY (LSM_SOLVER_ITERATIONS=5), or on the command line, as --set section.key=value (--set solver.iterations=5). Later ones win: default, file, environment, --set. There the value is TOML as well, but a text needs no quotes and a list no brackets: --set kirchhoff.engine=reference, --set image.shape=401,301. Variables whose first word is no section, such as LSM_SHARED, are left alone.",
	"A relative path in the file is relative to the folder of the file; in the environment and in --set it is relative to the current folder.",
	"Every problem is reported at once, before anything is computed, and the exit status is 2. An unknown key is a problem, and so is a number that is not finite. A number may be written with or without decimals; where a whole number is wanted it must have no fraction.",
}

// Help is the text of `lsm help config`: the rules, then every key with its
// values, default and meaning.
func Help() string {
	var b strings.Builder
	for _, p := range preface {
		wrap(&b, "", p)
		b.WriteByte('\n')
	}
	for i, s := range table().sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s.text())
	}
	return b.String()
}

// HelpKey is the help for one key, by its full name ("solver.damping") or by
// its own where only one section has it, or for one section. The error for
// anything else says what was perhaps meant.
func HelpKey(name string) (string, error) {
	t := table()
	if s := t.section(name); s != nil {
		return s.text(), nil
	}
	if f := t.field(name); f != nil {
		return f.text(), nil
	}
	sec, key, dotted := strings.Cut(name, ".")
	if !dotted {
		sec, key = "", name
	}
	s := t.section(sec)
	found := t.suggest(s, key)
	if !dotted && len(found) == 1 && found[0].Key == key {
		return found[0].text(), nil
	}
	hint := cmp.Or(didYouMean(nil, found), "the sections are "+strings.Join(t.names(), ", "))
	return "", fmt.Errorf("no configuration key or section %s; %s", Quote(clip(name)), hint)
}

// text is the help for a section and its keys.
func (s *section) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]\n", s.name)
	wrap(&b, "  ", s.help)
	for _, f := range s.fields {
		b.WriteByte('\n')
		b.WriteString(f.text())
	}
	return b.String()
}

// text is the help for one key.
func (f *Field) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n", f.Name())
	wrap(&b, "      ", f.Help)
	wrap(&b, "      ", f.summary())
	wrap(&b, "      ", "Environment: "+f.Env)
	return b.String()
}

// summary says what the key accepts and what its default is.
func (f *Field) summary() string {
	s := strings.ToUpper(f.want()[:1]) + f.want()[1:]
	if f.Required {
		return s + "; required"
	}
	s += "; default " + f.Default
	var others []string // one text for each value
	for _, g := range givesWay {
		if g.key != f.Name() {
			continue
		}
		v, _ := f.parse(g.value)
		beside := table().condition(g.beside)
		where := beside.field.Name() + " = " + beside.field.words(beside.values)
		if n := len(others); n > 0 && strings.HasPrefix(others[n-1], encode(v)+" with ") {
			others[n-1] += " or " + where
		} else {
			others = append(others, encode(v)+" with "+where)
		}
	}
	if others != nil {
		s += ", but " + strings.Join(others, ", and ")
	}
	return s
}

// wrap writes text as lines of at most textWidth columns, each with the prefix.
func wrap(b *strings.Builder, prefix, text string) {
	line := prefix
	for i, word := range strings.Fields(text) {
		if i > 0 && len(line)+1+len(word) > textWidth {
			b.WriteString(line + "\n")
			line = prefix + word
		} else if i > 0 {
			line += " " + word
		} else {
			line += word
		}
	}
	b.WriteString(line + "\n")
}

// Template is a configuration file with every key, its meaning, values, unit
// and default as comments. Keys that a run cannot do without are set to the
// names that lsm synth gives its files; all others are commented out, so that
// it parses to the defaults.
func Template() string {
	var b strings.Builder
	wrap(&b, "# ", "Configuration of lsm. A key that is commented out has its default; where there is none to show, an example stands instead. Relative paths are relative to the folder of this file. Units are SI; z points down.")
	for _, s := range table().sections {
		fmt.Fprintf(&b, "\n[%s]\n", s.name)
		wrap(&b, "# ", s.help)
		for _, f := range s.fields {
			b.WriteByte('\n')
			wrap(&b, "# ", f.Help)
			wrap(&b, "# ", f.summary()+".")
			if !f.live {
				b.WriteString("# ")
			}
			fmt.Fprintf(&b, "%s = %s\n", f.Key, f.sample())
		}
	}
	return b.String()
}

// sample is the value that the template shows, as TOML.
func (f *Field) sample() string {
	if f.example == "" {
		return f.Default
	}
	v, found := f.parse(f.example)
	if found != "" {
		panic(fmt.Sprintf("config: %s: bad example %q: want %s, found %s", f.Name(), f.example, f.want(), found))
	}
	return encode(v)
}
