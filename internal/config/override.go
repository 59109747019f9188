package config

import (
	"slices"
	"strings"
)

// environment takes the variables LSM_SECTION_KEY. Variables whose first word is not a section
// belong to other programs and are ignored.
func (r *reader) environment(environ []string) {
	// Sorted, so that the order of the problems does not depend on the shell.
	for _, e := range slices.Sorted(slices.Values(environ)) {
		name, text, _ := strings.Cut(e, "=")
		name, mine := strings.CutPrefix(name, "LSM_")
		sec, key, ok := strings.Cut(name, "_")
		s := r.fieldTable.section(strings.ToLower(sec))
		if mine && ok && s != nil && sec == strings.ToUpper(sec) {
			r.override(origin{source: "LSM_" + name}, s, strings.ToLower(key), text)
		}
	}
}

// environmentName is how a name is written in the environment.
func environmentName(name string) string {
	return strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// options takes the texts of --set, section.key=value.
func (r *reader) options(set []string) {
	for _, option := range set {
		at := origin{source: "--set " + clip(option)}
		name, text, ok := strings.Cut(option, "=")
		name = strings.TrimSpace(name)
		if !ok {
			r.complain(at, "", "want section.key=value")
			continue
		}
		sec, key, ok := strings.Cut(name, ".")
		if !ok {
			r.unknownKey(at, nil, name)
			continue
		}
		s := r.fieldTable.section(sec)
		if s == nil {
			r.unknownSection(at, sec)
			continue
		}
		r.override(at, s, key, strings.TrimSpace(text))
	}
}

// override takes one value typed at a prompt.
func (r *reader) override(at origin, s *section, key, text string) {
	f := s.field(key)
	if f == nil {
		r.unknownKey(at, s, key)
		return
	}
	v, found := f.parse(text)
	r.take(at, f, v, found, text, typed)
}
