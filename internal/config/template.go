package config

import (
	"fmt"
	"strings"
)

// Template is a configuration file with every key, its meaning, values, unit
// and default as comments. Keys that a run cannot do without are set to the
// names that lsm synth gives its files; all others are commented out, so that
// it parses to the defaults.
func Template() string {
	var b strings.Builder
	wrap(&b, "# ", "Configuration of lsm. A key that is commented out has its default; where there is none to show, an example stands instead. Relative paths are relative to the folder of this file. Units are SI; z points down.")
	for _, s := range newTable().sections {
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
