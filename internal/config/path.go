package config

import (
	"errors"
	"path/filepath"
)

// Path is a file or folder named in a configuration; the zero value names none.
type Path struct {
	Text string // relative to the configuration file's folder, or absolute, as written
	File string // to open: relative to the current folder, or absolute
}

// IsSet reports whether the path names anything.
func (p Path) IsSet() bool { return p.Text != "" }

// String is the path to open.
func (p Path) String() string { return p.File }

// MarshalText gives the path as written, so that the JSON form of a
// configuration does not depend on the current folder.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.Text), nil }

// inFolder resolves a path written in a file of the given folder.
func inFolder(folder, text string) Path {
	if text == "" || filepath.IsAbs(text) {
		return Path{Text: text, File: text}
	}
	return Path{Text: text, File: filepath.Join(folder, text)}
}

// typed resolves a path typed at a prompt, relative to the current folder.
func typed(folder, text string) Path {
	if text == "" || filepath.IsAbs(text) {
		return Path{Text: text, File: text}
	}
	from, errFrom := filepath.Abs(folder)
	to, errTo := filepath.Abs(text)
	rel, err := filepath.Rel(from, to)
	if errors.Join(errFrom, errTo, err) != nil {
		rel = text
	}
	return Path{Text: rel, File: filepath.Clean(text)}
}

// same reports whether two set paths name the same file by their text; links
// are not followed, since the files need not exist yet.
func (p Path) same(q Path) bool {
	if !p.IsSet() || !q.IsSet() {
		return false
	}
	a, errA := filepath.Abs(p.File)
	b, errB := filepath.Abs(q.File)
	return errA == nil && errB == nil && a == b
}
