package config

import (
	"fmt"
	"strconv"
	"strings"
)

// encode writes a value as TOML that reads back as exactly the same value.
func encode(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case Path:
		return quote(v.Text)
	case float64:
		s := strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64))
		if strings.ContainsAny(s, ".ein") { // exponent, inf, nan
			return s
		}
		return s + ".0"
	case []int:
		return encodeList(v)
	case []float64:
		return encodeList(v)
	case []any:
		return encodeList(v)
	case map[string]any, []map[string]any:
		return "{…}"
	}
	return fmt.Sprint(v)
}

func encodeList[T any](list []T) string {
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = encode(e)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// Quote writes a text as TOML, for a value of --set that is taken as it stands.
func Quote(s string) string { return quote(s) }

// quote writes a TOML basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case isControl(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// TOML is the resolved configuration: every key in the order of the template,
// one form for one configuration. Parse of it, in the same folder, gives the
// same configuration. Outputs keep it as provenance.
func (c *Config) TOML() string {
	var b strings.Builder
	for i, s := range table().sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[%s]\n", s.name)
		for _, f := range s.fields {
			fmt.Fprintf(&b, "%s = %s\n", f.Key, f.encoded(c))
		}
	}
	return b.String()
}
