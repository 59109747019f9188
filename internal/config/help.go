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
	"A configuration is one TOML file. Lengths are in m, times in s, velocities in m/s, angles in degrees, unless a key says otherwise. Coordinates are x z in 2-D and x y z in 3-D; z points down.",
	"Most runs set a few of these ten keys and leave all others at their defaults:",
	"A value can also come from the environment, LSM_SOLVER_ITERATIONS=5, or from the command line, --set solver.iterations=5. The last of these wins: default, file, environment, --set. Environment and --set take TOML values too, but texts need no quotes and lists no brackets: --set kirchhoff.engine=reference, --set image.shape=401,301. Variables such as LSM_SHARED, whose first word is no section, are ignored.",
	"A relative path in the file starts from the folder of the file. A relative path in the environment or in --set starts from the current folder.",
	"lsm reports all problems at once, before it computes anything, and ends with exit status 2. An unknown key is a problem, and so is a number that is not finite. Numbers may have decimals or not; a whole number must have no fraction.",
}

// afterKeys is the place in preface of the list of the keys that matter first.
const afterKeys = 2

// Help is the text of `lsm help config`: the keys that matter first, the rules, then
// the sections with the names of their keys.
func Help() string {
	var b strings.Builder
	for i, p := range preface {
		wrap(&b, "", p)
		b.WriteByte('\n')
		if i+1 == afterKeys {
			b.WriteString(firstKeys() + "\n")
		}
	}
	b.WriteString("The sections and their keys:\n")
	for _, s := range table().sections {
		var keys []string
		for _, f := range s.fields {
			keys = append(keys, f.Key)
		}
		fmt.Fprintf(&b, "\n[%s]\n", s.name)
		wrap(&b, "  ", strings.Join(keys, ", "))
	}
	b.WriteString(`
More: lsm help config kirchhoff, a section in full
      lsm help config kirchhoff.aperture, one key
      lsm help config all, every key
      lsm help config --template > config.toml, a file to start from
`)
	return b.String()
}

// HelpAll is the text of `lsm help config all`: every key by section, with its values,
// default and meaning.
func HelpAll() string {
	var b strings.Builder
	for i, s := range table().sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(s.text())
	}
	return b.String()
}

// firstKeys lists the keys that matter first, a line each.
func firstKeys() string {
	var b strings.Builder
	for _, f := range table().fields() {
		if f.first != "" {
			fmt.Fprintf(&b, "  %-23s %s\n", f.Name(), f.first)
		}
	}
	return b.String()
}

// HelpKey is the help for one section, for one key, by its full name ("solver.damping")
// or by its own where only one section has it, or for "all". The error for anything else
// says what was perhaps meant.
func HelpKey(name string) (string, error) {
	if name == "all" {
		return HelpAll(), nil
	}
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
// and default as comments. Keys that a run needs are set to the names that lsm synth gives its
// files; all others are commented out, so that it parses to the defaults.
func Template() string {
	var b strings.Builder
	wrap(&b, "# ", "Configuration of lsm. A key that is commented out has its default. If the default is empty, an example is shown. Relative paths start from the folder of this file. Units are SI; z points down.")
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
