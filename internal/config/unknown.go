package config

import "strings"

// unknownKey reports a key that the table does not have, in a section or, where
// it is nil, outside all.
func (r *reader) unknownKey(at origin, in *section, key string) {
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
		r.nameAll(r.table.section(near))
		return
	}
	p.Hint = "the sections are " + strings.Join(r.names(), ", ")
}
