package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/kirchhoff-lsm/lsm/internal/sniff"
)

// maxSize is the largest configuration file that is read, in bytes. A mistyped
// name of a data file is far more likely than a longer configuration.
const maxSize = 1 << 20

// origin says where a value came from; the zero value means the default.
type origin struct {
	source string // file, environment variable or --set option
	line   int
}

// reader gathers a configuration and its problems.
type reader struct {
	*fieldTable
	cfg      *Config
	path     string
	folder   string
	problems []Problem
	pos      *positions      // in the file
	named    map[string]bool // keys that a problem names, spared from further ones
	recorded bool            // the file is an output's record
}

// Load reads the file and parses it with Parse. A file that cannot be read is
// reported in the same form; errors.Is(err, fs.ErrNotExist) tells a missing one.
func Load(path string, set, environ []string) (*Config, error) {
	var source []byte
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		source, err = io.ReadAll(io.LimitReader(f, maxSize+1)) // of one too large, just enough to tell
	}
	if err == nil {
		return Parse(path, source, set, environ)
	}
	p := Problem{Source: path, Message: err.Error()}
	var pe *fs.PathError
	switch {
	case path == "":
		p.Source, p.Message = "configuration", "no file is named"
	case errors.Is(err, fs.ErrNotExist):
		p.Message = "no such file"
	case errors.Is(err, fs.ErrPermission):
		p.Message = "no permission to read the file"
	case errors.Is(err, syscall.EISDIR):
		p.Message = "is a folder, want a TOML file"
	case errors.As(err, &pe):
		p.Message = pe.Err.Error()
	}
	return nil, &Problems{[]Problem{p}, err}
}

// Parse makes a configuration from the source of the file at path, which need
// not exist, the environment in the form of os.Environ, and the --set options
// in the form section.key=value. Later ones win: defaults, file, environment,
// options; of several options for one key the last.
//
// The error, if any, is a *Problems with everything that is wrong.
func Parse(path string, source []byte, set, environ []string) (*Config, error) {
	return parse(&reader{}, path, source, set, environ)
}

// Recorded is Parse for a resolved configuration in an output file, which an earlier version may have
// written: values mean what they meant to it.
func Recorded(path string, source []byte, set []string) (*Config, error) {
	return parse(&reader{recorded: true}, path, source, set, nil)
}

func parse(r *reader, path string, source []byte, set, environ []string) (*Config, error) {
	*r = reader{
		recorded:   r.recorded,
		fieldTable: table(),
		cfg:        &Config{path: path, origins: map[string]origin{}},
		path:       path,
		folder:     filepath.Dir(path),
		pos:        &positions{},
		named:      map[string]bool{},
	}
	for _, f := range r.fields() {
		if !f.Required {
			v, _ := f.parse(f.deflt)
			r.assign(f, v, inFolder)
		}
	}
	readable := r.file(source)
	r.environment(environ)
	r.options(set)
	if readable {
		r.giveWay()
		r.cross()
	}
	if len(r.problems) > 0 {
		sortByLine(r.problems, path)
		return nil, &Problems{List: first(r.problems, path)}
	}
	return r.cfg, nil
}

// giveWay replaces defaults that do not suit what the configuration says.
func (r *reader) giveWay() {
	done := map[string]bool{}
	for _, g := range givesWay {
		beside := r.condition(g.beside)
		if _, given := r.cfg.origins[g.key]; given || done[g.key] || !r.good(g.key, beside.field.Name()) || !beside.holds(r.cfg) {
			continue
		}
		f := r.field(g.key)
		v, _ := f.parse(g.value)
		r.assign(f, v, inFolder)
		done[g.key] = true
	}
}

// file takes the values of the file and reports whether its syntax was good.
func (r *reader) file(source []byte) bool {
	syntax := func(line, column int, message string) bool {
		r.problems = append(r.problems, Problem{Source: r.path, Line: line, Column: column, Message: message})
		return false
	}
	switch {
	case bytes.HasPrefix(source, []byte(sniff.Signature)):
		return syntax(0, 0, "is an HDF5 file, want a TOML file")
	case len(source) > maxSize:
		return syntax(0, 0, fmt.Sprintf("is larger than %d bytes, want a TOML file", maxSize))
	case bytes.HasPrefix(source, []byte("\xef\xbb\xbf")):
		return syntax(1, 1, "the file begins with a byte order mark; save it as UTF-8 without one")
	case bytes.HasPrefix(source, []byte("\xff\xfe")), bytes.HasPrefix(source, []byte("\xfe\xff")):
		return syntax(1, 1, "the file is UTF-16; save it as UTF-8")
	}
	text := string(source)
	for at, c := range text {
		if _, n := utf8.DecodeRuneInString(text[at:]); c != utf8.RuneError || n > 1 {
			continue
		}
		line, column := place(text, at)
		return syntax(line, column, "the file is not UTF-8 text here; save it as UTF-8")
	}
	if at := tooDeep(text); at >= 0 {
		line, column := place(text, at)
		return syntax(line, column, fmt.Sprintf("nested deeper than %d levels, want sections of keys", deepest))
	}
	doc := map[string]any{}
	if _, err := toml.Decode(text, &doc); err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return syntax(pe.Position.Line, pe.Position.Col, "TOML: "+clip(strings.TrimSuffix(pe.Message, ".")))
		}
		return syntax(0, 0, "TOML: "+clip(err.Error()))
	}
	r.pos = locate(text)
	for _, name := range slices.Sorted(maps.Keys(doc)) {
		r.section(name, doc[name])
	}
	return true
}

// section takes the values of one table of the file.
func (r *reader) section(name string, v any) {
	at := origin{r.path, r.pos.line(name, "")}
	s := r.fieldTable.section(name)
	keys, isTable := v.(map[string]any)
	switch {
	case s == nil && isTable:
		r.unknownSection(at, name)
		return
	case s == nil:
		r.unknownKey(at, nil, name)
		return
	case !isTable:
		found := describe(v)
		if _, list := v.([]map[string]any); list {
			found = "a list of sections [[" + name + "]]"
		}
		r.nameAll(s)
		r.complain(at, name, "want a section ["+name+"], found "+found)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		at := origin{r.path, r.pos.line(name, key)}
		f := s.field(key)
		if f == nil {
			if !r.recorded || !atDefaults(name+"."+key, keys[key]) {
				r.unknownKey(at, s, key)
			}
			continue
		}
		value := keys[key]
		if r.recorded {
			value = f.meant(value)
		}
		typed, found := f.check(value)
		r.take(at, f, typed, found, value, inFolder)
	}
}

// take stores a checked value or reports it.
func (r *reader) take(at origin, f *Field, typed any, found string, raw any, resolve func(folder, text string) Path) {
	if found == "" {
		r.assign(f, typed, resolve)
		r.cfg.origins[f.Name()] = at
		return
	}
	p := r.complain(at, f.Name(), "want "+f.want()+", found "+found)
	p.Default = f.Default
	if f.Required {
		p.Hint = "it has no default"
	}
	if gone, ok := findRemoval(removedValues, f.Name(), encode(raw)); ok {
		p.Message, p.Hint = encode(raw)+" is no longer offered", gone.instead
	} else if s, ok := raw.(string); ok && f.Choices != nil {
		if near := nearest(s, f.Choices); near != "" {
			p.Hint = "did you mean " + Quote(near) + "?"
		}
	}
}

func (r *reader) assign(f *Field, v any, resolve func(folder, text string) Path) {
	if f.Type == "path" {
		v = resolve(r.folder, v.(string))
	}
	f.value(r.cfg).Set(reflect.ValueOf(v))
}

// complain adds a problem with a value itself, and keeps the key out of the checks of
// values against each other.
func (r *reader) complain(at origin, key, message string) *Problem {
	r.named[key] = true
	return r.add(at, key, message)
}

// add adds a problem; the pointer holds until the next one.
func (r *reader) add(at origin, key, message string) *Problem {
	r.problems = append(r.problems, Problem{Source: at.source, Line: at.line, Key: key, Message: message})
	return &r.problems[len(r.problems)-1]
}

// nameAll spares the keys of a section from problems that would only follow
// from one already reported.
func (r *reader) nameAll(s *section) {
	for _, f := range s.fields {
		r.named[f.Name()] = true
	}
}
