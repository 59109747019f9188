package config

import (
	"strings"

	"github.com/BurntSushi/toml"
)

// encode writes a value as TOML that reads back as exactly the same value.
func encode(v any) string {
	text, err := toml.Marshal(map[string]any{"v": v})
	value, found := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), "v = ")
	if err != nil || !found {
		return "{…}" // tables, which no key has
	}
	return value
}

// Quote writes a text as TOML, for a value of --set that is taken unchanged.
func Quote(s string) string { return encode(s) }

// TOML is the resolved configuration: every key in the order of the template,
// one form for one configuration. Parse of it, in the same folder, gives the
// same configuration. Outputs keep it as provenance.
func (c *Config) TOML() string {
	var b strings.Builder
	e := toml.NewEncoder(&b)
	e.Indent = ""
	if err := e.Encode(c); err != nil {
		panic(err) // every type of a key can be written
	}
	return b.String()
}
