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

// nearest is the candidate most like name, or "" if none is like it: at most a
// third of its letters may differ, or one is the beginning of the other. In
// three letters one is too many: "gpu" does not mean "cpu".
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
		if d == 2 && sameLetters(name, normal(c)) {
			d = 0 // two letters swapped, the commonest slip of all
		}
		if d < least {
			best, least = c, d
		}
	}
	if best != "" || len(name) < 3 {
		return best
	}
	for _, c := range candidates {
		if strings.HasPrefix(normal(c), name) || strings.HasPrefix(name, normal(c)) {
			return c
		}
	}
	return ""
}

// sameLetters reports whether a and b are made of the same bytes in any order.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// alias is the field of s that other programs call key, nil if there is none.
func (s *section) alias(key string) *Field {
	for _, f := range s.fields {
		for _, a := range f.also {
			if a == normal(key) {
				return f
			}
		}
	}
	return nil
}

func (s *section) keys() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.Key
	}
	return names
}

func (t *table) names() []string {
	names := make([]string, len(t.sections))
	for i, s := range t.sections {
		names[i] = s.name
	}
	return names
}

// suggest finds what was perhaps meant by an unknown key of a section: fields
// of the section itself, else of others. The section is nil for a key that
// stands outside all.
func (t *table) suggest(in *section, key string) []*Field {
	if in != nil {
		if f := in.field(normal(key)); f != nil {
			return []*Field{f}
		}
		if f := in.alias(key); f != nil {
			return []*Field{f}
		}
	}
	elsewhere := func(match func(s *section) *Field) (found []*Field) {
		for i := range t.sections {
			if s := &t.sections[i]; s != in {
				if f := match(s); f != nil {
					found = append(found, f)
				}
			}
		}
		return found
	}
	if found := elsewhere(func(s *section) *Field { return s.field(normal(key)) }); found != nil {
		return found
	}
	if in != nil {
		if near := nearest(key, in.keys()); near != "" {
			return []*Field{in.field(near)}
		}
	}
	if found := elsewhere(func(s *section) *Field { return s.alias(key) }); found != nil {
		return found
	}
	return elsewhere(func(s *section) *Field { return s.field(nearest(key, s.keys())) })
}

// didYouMean words a suggestion: keys of the section itself go by their short
// name.
func didYouMean(in *section, found []*Field) string {
	if len(found) == 0 {
		return ""
	}
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = quote(f.Name())
		if in != nil && f.Section == in.name {
			names[i] = quote(f.Key)
		}
	}
	return "did you mean " + strings.Join(names, " or ") + "?"
}
