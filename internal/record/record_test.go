package record

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSet(t *testing.T) {
	for _, c := range []struct {
		key, text string
		ok        bool
	}{
		{Title, "A line", true}, {Title, "two\nlines", false}, {Title, "a bell\a", false}, {"colour", "blue", false},
		{Date, "2024", true}, {Date, "2024-02-29", true}, {Date, "2023-02-29", false}, {Date, "29.2.2024", false},
		{Identifier, "10.1234/a", true}, {Identifier, "https://doi.org/10.1234/a", true}, {Identifier, "https://example.org/a", true}, {Identifier, "a", false},
		{Licence, "CC-BY-4.0", true}, {Licence, "https://example.org/terms", true}, {Licence, "free for all", false},
		{Creators, "Carberry, Josiah (0000-0002-1825-0097)", true}, // the ORCID that the registry gives as an example
		{Creators, "Carberry, Josiah (0000-0002-1825-0079)", false},
		{Description, strings.Repeat("a", longest+1), false}, {Description, "two\nlines", true},
	} {
		r := Record{}
		if err := r.Set(c.key, c.text); (err == nil) != c.ok || c.ok && r[c.key] != c.text {
			t.Errorf("%s = %.40q: %v", c.key, c.text, err)
		}
	}
}

func TestExport(t *testing.T) {
	r := Record{Title: "A line", Creators: "Carberry, Josiah (0000-0002-1825-0097); An Institute", Publisher: "An Institute", Date: "2024-05", Identifier: "doi:10.1234/a"}
	b, err := r.Export("datacite", File{Kind: "survey", Bytes: 12})
	if err != nil {
		t.Fatal(err)
	}
	var o struct {
		DOI             string
		PublicationYear string
		Creators        []struct{ Name, NameType, FamilyName string }
	}
	if err := json.Unmarshal(b, &o); err != nil || o.DOI != "10.1234/a" || o.PublicationYear != "2024" || len(o.Creators) != 2 ||
		o.Creators[0].FamilyName != "Carberry" || o.Creators[0].NameType != "Personal" || o.Creators[1].NameType != "Organizational" {
		t.Errorf("%v: %s", err, b)
	}
	for _, key := range []string{Title, Creators, Publisher, Date, Identifier} {
		before := r[key]
		delete(r, key)
		if _, err := r.Export("datacite", File{}); err == nil || !strings.Contains(err.Error(), "lacks "+key) {
			t.Errorf("without %s: %v", key, err)
		}
		r[key] = before
	}
	r[Identifier] = "https://example.org/a"
	if _, err := r.Export("datacite", File{}); err == nil || !strings.Contains(err.Error(), "requires a DOI") {
		t.Errorf("without a DOI: %v", err)
	}
	if _, err := r.Export("dcat", File{}); err == nil || !strings.Contains(err.Error(), "lacks description") {
		t.Errorf("dcat: %v", err)
	}
}
