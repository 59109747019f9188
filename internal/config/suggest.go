package config

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// longestName bounds the names for which a likeness is sought: the distance
// costs the product of the lengths.
const longestName = 64

// normal makes spellings comparable.
func normal(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "-", "_"))
}

// nearest returns the candidate most like name, or "" if none is like it. At most a third
// of the letters may differ, or one is the beginning of the other. In three letters no
// difference is allowed: "gpu" does not mean "cpu".
func nearest(name string, candidates []string) string {
	name = normal(name)
	if len(name) > longestName || name == "" {
		return ""
	}
	best, least := "", max(1, len(name)/3)+1
	if len(name) <= 3 {
		least = 1
	}
	for _, c := range candidates {
		d := levenshtein.ComputeDistance(name, normal(c))
		if d == 2 && slices.Equal(letters(name), letters(c)) {
			d = 0 // two letters swapped, the commonest slip of all
		}
		if d < least || d == least && best != "" && len(c) > len(best) { // a letter is lost more often than added
			best, least = c, d
		}
	}
	for _, c := range candidates {
		if best == "" && len(name) >= 3 && (strings.HasPrefix(normal(c), name) || strings.HasPrefix(name, normal(c))) {
			best = c
		}
	}
	return best
}

// letters returns the letters of a name in the order of the alphabet.
func letters(name string) []byte {
	return slices.Sorted(slices.Values([]byte(normal(name))))
}

func (s *section) keys() (names []string) {
	for _, f := range s.fields {
		names = append(names, f.Key)
	}
	return names
}

func (t *fieldTable) names() (names []string) {
	for _, s := range t.sections {
		names = append(names, s.name)
	}
	return names
}

// suggest finds what was perhaps meant by an unknown key of a section: fields of the section
// itself, otherwise of others. The section is nil for a key outside all sections.
func (t *fieldTable) suggest(in *section, key string) (found []*Field) {
	exact := func(s *section) *Field { return s.field(normal(key)) }
	other := func(s *section) *Field { // what other programs call so
		return find(s.fields, func(f *Field) bool { return slices.Contains(f.also, normal(key)) })
	}
	near := func(s *section) *Field { return s.field(nearest(key, s.keys())) }
	for _, try := range []struct {
		here  bool
		match func(s *section) *Field
	}{{true, exact}, {true, other}, {false, exact}, {true, near}, {false, other}, {false, near}} {
		for _, s := range t.sections {
			if (s == in) != try.here {
				continue
			}
			if f := try.match(s); f != nil {
				found = append(found, f)
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// didYouMean words a suggestion: keys of the section itself go by their short
// name.
func didYouMean(in *section, found []*Field) string {
	if len(found) == 0 {
		return ""
	}
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = Quote(f.Name())
		if in != nil && f.Section == in.name {
			names[i] = Quote(f.Key)
		}
	}
	return "did you mean " + strings.Join(names, " or ") + "?"
}

// unknownKey reports a key that the table does not have, in a section or, where
// it is nil, outside all.
func (r *reader) unknownKey(at origin, in *section, key string) {
	if in != nil {
		if gone, ok := findRemoval(removedKeys, in.name+"."+key, ""); ok {
			message := "is no longer a key"
			if gone.value == "" {
				message = "is no longer a section"
			}
			r.complain(at, gone.key, message).Hint = gone.instead
			return
		}
	}
	found := r.suggest(in, key)
	for _, f := range found {
		r.named[f.Name()] = true
	}
	name, message := clip(key), "unknown key outside any section"
	if in != nil {
		name, message = in.name+"."+name, "unknown key"
	}
	p := r.complain(at, name, message)
	p.Hint = didYouMean(in, found)
	switch {
	case len(found) == 1:
		p.Default = found[0].Default
	case len(found) == 0 && in != nil:
		p.Hint = "the keys of [" + in.name + "] are " + strings.Join(in.keys(), ", ")
	case len(found) == 0:
		p.Hint = "the sections are " + strings.Join(r.names(), ", ")
	}
}

// unknownSection reports a section that the table does not have.
func (r *reader) unknownSection(at origin, name string) {
	p := r.complain(at, "["+clip(name)+"]", "unknown section")
	if near := nearest(name, r.names()); near != "" {
		p.Hint = "did you mean [" + near + "]?"
		r.nameAll(r.fieldTable.section(near))
		return
	}
	p.Hint = "the sections are " + strings.Join(r.names(), ", ")
}
