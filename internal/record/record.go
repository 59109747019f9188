// Package record is the bibliographic record of a file: what others need to find, cite and
// reuse the data. It lies in the file as root attributes whose names begin with "metadata_",
// and is exported as a DataCite or a DCAT record.
package record

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/BurntSushi/toml"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Prefix begins the names of the attributes.
const Prefix = "metadata_"

// Keys of a record. Title, creators, licence and identifier are what FAIR data need first
// (Wilkinson and others, Scientific Data 3, 2016).
const (
	Title       = "title"
	Creators    = "creators"   // separated by semicolons: "Family, Given (ORCID)" or the name of an organisation
	Publisher   = "publisher"  // who makes the data available
	Date        = "date"       // of publication: YYYY, YYYY-MM or YYYY-MM-DD
	Licence     = "licence"    // SPDX identifier, such as CC-BY-4.0, or a URL
	Identifier  = "identifier" // DOI, such as 10.1234/abcd, or a URL
	Origin      = "origin"     // where, when and how the data were recorded or made
	CRS         = "crs"        // coordinate reference system, such as EPSG:23031
	Description = "description"
	Keywords    = "keywords" // separated by commas
)

// keys are all, in the order in which they are shown.
var keys = []string{Title, Creators, Publisher, Date, Licence, Identifier, Origin, CRS, Description, Keywords}

// Keys lists the keys of a record in the order in which they are shown.
func Keys() []string { return slices.Clone(keys) }

// Record holds texts by key.
type Record map[string]string

// FromAttrs is the record in the root attributes of a file.
func FromAttrs(attrs []h5.Attr) Record {
	r := Record{}
	for _, a := range attrs {
		key, ours := strings.CutPrefix(a.Name, Prefix)
		if text, ok := a.Value.(string); ours && ok && slices.Contains(keys, key) {
			r[key] = text
		}
	}
	return r
}

// Attrs are the root attributes, in the order of the keys.
func (r Record) Attrs() (attrs []h5.Attr) {
	for _, key := range keys {
		if r[key] != "" {
			attrs = append(attrs, h5.Attr{Name: Prefix + key, Value: r[key]})
		}
	}
	return attrs
}

// longest is the longest text, bytes.
const longest = 16 << 10

// Set gives a key a text; an empty one removes the key.
func (r Record) Set(key, text string) error {
	if !slices.Contains(keys, key) {
		return status.Hint(fmt.Errorf("metadata key %q is unknown", key), "one of "+strings.Join(keys, ", "))
	}
	text = strings.TrimSpace(text)
	control := strings.ContainsFunc(text, func(c rune) bool { return c == unicode.ReplacementChar || unicode.IsControl(c) && c != '\n' })
	switch {
	case control:
		return fmt.Errorf("metadata: %s holds characters that are no text", key)
	case len(text) > longest:
		return fmt.Errorf("metadata: %s has %d bytes, at most %d", key, len(text), longest)
	case text == "":
		delete(r, key)
		return nil
	}
	if err := check(key, text); err != nil {
		return err
	}
	r[key] = text
	return nil
}

var (
	doi  = regexp.MustCompile(`^10\.\d{4,9}/[-._;()/:a-zA-Z0-9]+$`)
	link = regexp.MustCompile(`^https?://[^\s/]+\S*$`)
	spdx = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+-]*$`)
	epsg = regexp.MustCompile(`^EPSG:(\d{4,6})$`)
)

// check judges the text of a key.
func check(key, text string) error {
	switch key {
	case Date:
		if yearOf(text) == "" {
			return fmt.Errorf("metadata: date is %q, want YYYY, YYYY-MM or YYYY-MM-DD", text)
		}
	case Identifier:
		if doiOf(text) == "" && !link.MatchString(text) {
			return fmt.Errorf("metadata: identifier is %q, want a DOI such as 10.1234/abcd, or a URL", text)
		}
	case Licence:
		if !spdx.MatchString(text) && !link.MatchString(text) {
			return fmt.Errorf("metadata: licence is %q, want an SPDX identifier such as CC-BY-4.0, or a URL", text)
		}
	case Creators:
		for _, c := range creatorsOf(text) {
			if c.orcid != "" && !orcidValid(c.orcid) {
				return fmt.Errorf("metadata: creators: the ORCID %s of %s has a wrong check digit", c.orcid, c.name)
			}
		}
	case Title, Publisher, CRS:
		if strings.Contains(text, "\n") {
			return fmt.Errorf("metadata: %s has several lines, want one", key)
		}
	}
	return nil
}

// yearOf is the year of a date, "" for what is no date.
func yearOf(date string) string {
	for _, layout := range []string{"2006", "2006-01", "2006-01-02"} {
		if t, err := time.Parse(layout, date); err == nil {
			return t.Format("2006")
		}
	}
	return ""
}

// doiOf is the DOI of an identifier, which may be a link; "" for others.
func doiOf(text string) string {
	for _, before := range []string{"https://doi.org/", "http://doi.org/", "https://dx.doi.org/", "http://dx.doi.org/", "doi:"} {
		text = strings.TrimPrefix(text, before)
	}
	if !doi.MatchString(text) {
		return ""
	}
	return text
}

// creator is a person or an organisation.
type creator struct{ name, family, given, orcid string }

var orcidAt = regexp.MustCompile(`\s*[(<\[]?(?:https?://orcid\.org/)?(\d{4}-\d{4}-\d{4}-\d{3}[\dX])[)>\]]?$`)

func creatorsOf(text string) (list []creator) {
	for _, part := range strings.Split(text, ";") {
		c := creator{name: strings.TrimSpace(part)}
		if at := orcidAt.FindStringSubmatchIndex(c.name); at != nil {
			c.orcid, c.name = c.name[at[2]:at[3]], strings.TrimSpace(c.name[:at[0]])
		}
		if family, given, ok := strings.Cut(c.name, ","); ok {
			c.family, c.given = strings.TrimSpace(family), strings.TrimSpace(given)
		}
		if c.name != "" {
			list = append(list, c)
		}
	}
	return list
}

// orcidValid checks the last digit of an ORCID (ISO 7064, MOD 11-2).
func orcidValid(orcid string) bool {
	total := 0
	digits := strings.ReplaceAll(orcid, "-", "")
	for _, c := range digits[:len(digits)-1] {
		total = (total + int(c-'0')) * 2
	}
	return "0123456789X"[(12-total%11)%11] == digits[len(digits)-1]
}

// Read sets the keys of a TOML file: texts, or lists of texts for creators and keywords.
func (r Record) Read(path string) error {
	f, err := plainfile.Open(path)
	if err != nil {
		return status.Usage(err)
	}
	defer f.Close()
	var file map[string]any
	if _, err := toml.NewDecoder(f).Decode(&file); err != nil {
		return status.Usage(fmt.Errorf("%s: %w", path, err))
	}
	between := map[string]string{Creators: "; ", Keywords: ", "}
	for _, key := range slices.Sorted(maps.Keys(file)) {
		text, ok := file[key].(string)
		if list, several := file[key].([]any); several && between[key] != "" {
			parts := make([]string, len(list))
			ok = true
			for i, part := range list {
				var is bool
				parts[i], is = part.(string)
				ok = ok && is
			}
			text = strings.Join(parts, between[key])
		}
		if t, is := file[key].(time.Time); is && key == Date {
			text, ok = t.Format("2006-01-02"), true
		}
		if n, is := file[key].(int64); is && key == Date {
			text, ok = fmt.Sprint(n), true
		}
		if !ok {
			return status.Usage(fmt.Errorf("%s: %s is %v, want a text", path, key, file[key]))
		}
		if err := r.Set(key, text); err != nil {
			return status.Usage(fmt.Errorf("%s: %w", path, err))
		}
	}
	return nil
}

// Missing lists which of the wanted keys have no text.
func (r Record) Missing(wanted ...string) (list []string) {
	for _, key := range wanted {
		if r[key] == "" {
			list = append(list, key)
		}
	}
	return list
}
