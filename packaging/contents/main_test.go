package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The contents of this test's own program: every module has a licence that is known, and its
// text lies in the folder.
func TestContents(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	licence := filepath.Join(dir, "own")
	if err := os.WriteFile(licence, []byte("Do what you like.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{dir, program + "," + program, "1.2.0", "thing,1:2.3+4,BSD-2-Clause," + licence, "bare,1,MIT,"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "lsm.spdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d document23
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.Creation.Created != "1970-01-02T00:00:00Z" {
		t.Errorf("made at %s", d.Creation.Created)
	}
	if p := d.Packages[0]; p.Version != "1.2.0" {
		t.Errorf("the program itself: %+v", p)
	}
	by := map[string]spdx{}
	for _, p := range d.Packages {
		if by[p.Name].ID != "" {
			t.Errorf("%s is named twice", p.Name)
		}
		by[p.Name] = p
		if p.Declared == "" || p.ID == "" {
			t.Errorf("%+v", p)
		}
	}
	if p := by["std"]; p.Declared != "BSD-3-Clause" || p.Version == "" {
		t.Errorf("Go's library: %+v", p)
	}
	if p := by["thing"]; p.Declared != "BSD-2-Clause" || p.Version != "1:2.3+4" || len(p.Refs) > 0 {
		t.Errorf("a part of its own: %+v", p)
	}
	if own, err := os.ReadFile(filepath.Join(dir, "licences/thing/own")); err != nil || string(own) != "Do what you like.\n" {
		t.Errorf("%q, %v", own, err)
	}
	if err := run([]string{dir, program, "1.2.0", "thing,1"}); err == nil || !strings.Contains(err.Error(), "want NAME,VERSION") {
		t.Errorf("half a part: %v", err)
	}
}

// Every module that lsm needs is under a licence that recognise knows.
func TestLicences(t *testing.T) {
	list, err := folders()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.HasPrefix(words[1], "v") || words[0] == "require" {
			continue
		}
		folder := list[words[0]+"@"+words[1]]
		if folder == "" { // of tests of other modules
			continue
		}
		p := part{name: words[0]}
		if p.files, err = licences(folder); err != nil {
			t.Error(err)
		} else if p.licence, err = recognise(p); err != nil {
			t.Error(err)
		}
		seen++
	}
	if seen < 20 {
		t.Errorf("%d modules", seen)
	}
	empty := filepath.Join(t.TempDir(), "LICENSE")
	if err := os.WriteFile(empty, []byte("All rights reserved.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if found, err := recognise(part{name: "x", files: []string{empty}}); err == nil {
		t.Errorf("no licence is taken for %s", found)
	}
}
