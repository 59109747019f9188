package config

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
)

// condition is a test of one key's value, written as
//
//	solver.start               the value is another than the default
//	solver.method=cg|cgls      it is one of these
//	traveltime.method:tables   it is a registered choice with this trait
//
// each turned round by a "!" before it.
type condition struct {
	field  *Field
	not    bool
	values []string // nil: any but the default
}

// condition parses the notation. An unknown key is a programming error and panics.
func (t *fieldTable) condition(text string) condition {
	name, not := strings.CutPrefix(text, "!")
	c := condition{not: not}
	name, values, listed := strings.Cut(name, "=")
	name, trait, asked := strings.Cut(name, ":")
	if c.field = t.field(name); c.field == nil {
		panic(fmt.Sprintf("config: condition %q: no such key", text))
	}
	if listed {
		c.values = strings.Split(values, "|")
	}
	for _, choice := range registries[name] {
		if asked && slices.Contains(choice.Traits, trait) {
			c.values = append(c.values, choice.Name)
		}
	}
	return c
}

// holds reports whether the condition holds for c.
func (x condition) holds(c *Config) bool {
	value := x.field.encoded(c)
	if x.values == nil {
		return (value != x.field.Default) != x.not
	}
	return slices.Contains(x.values, strings.Trim(value, `"`)) != x.not
}

// acts reports whether a key has an effect, given the condition of its tag "with".
func (t *fieldTable) acts(f *Field, c *Config) bool {
	return f.with == "" || t.condition(f.with).holds(c)
}

// failed says for a message that the condition with which a key acts does not hold.
func (x condition) failed() string {
	text := "acts only with "
	if x.not {
		text = "has no effect with "
	}
	text += x.field.Name()
	if x.values != nil {
		text += " = " + x.field.words(x.values)
	}
	return text
}

// words lists values of the field as TOML: `"off", "run" or "ranks"`.
func (f *Field) words(values []string) string { return english.WordSeries(f.quoted(values), "or") }

// quoted are values of the field as TOML.
func (f *Field) quoted(values []string) []string {
	values = slices.Clone(values)
	for i, v := range values {
		if f.Type == "text" {
			values[i] = Quote(v)
		}
	}
	return values
}

// rule is a combination of values that is refused or noted.
type rule struct {
	key  string   // condition on the key that the problem is about
	with []string // conditions on other keys, which must all hold as well
	say  string   // {key} stands for a key's value, {} for that of the rule's own, {key?} for its other values
}

var placeholder = regexp.MustCompile(`\{([a-z_.]*)(\??)\}`)

// apply calls report with the rule's message and keys if all its conditions hold.
func (r *reader) apply(u rule, report func(message string, keys ...string) *Problem) {
	var keys []string
	for _, text := range append([]string{u.key}, u.with...) {
		x := r.condition(text)
		keys = append(keys, x.field.Name())
		if !x.holds(r.cfg) {
			return
		}
	}
	if !r.good(keys...) {
		return
	}
	report(placeholder.ReplaceAllStringFunc(u.say, func(p string) string {
		part := placeholder.FindStringSubmatch(p)
		f := r.field(cmp.Or(part[1], keys[0]))
		if part[2] == "" {
			return f.encoded(r.cfg)
		}
		return f.words(slices.DeleteFunc(slices.Clone(f.Choices), func(v string) bool { return Quote(v) == f.encoded(r.cfg) }))
	}), keys...)
}
