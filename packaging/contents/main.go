// Command contents writes what a package of lsm has inside: an SBOM in SPDX 2.3
// (FOLDER/lsm.spdx.json), and the licence of every part (FOLDER/licences).
//
//	contents FOLDER PROGRAM[,LIBRARY...] VERSION [NAME,VERSION,LICENCE,FILE ...]
//
// The Go modules, with their versions and checksums, are those that the program and the libraries
// say they were made of. Each further argument is a part that is not of Go: its SPDX licence identifier, or one
// expression of them, and the file with its text, which may be empty.
//
// SPDX 2.3: https://spdx.github.io/spdx-spec/v2.3
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// part is one thing inside the package.
type part struct {
	name, version string
	licence       string   // SPDX expression, of a module found in its files
	files         []string // with the text of its licence
	sum           string   // of a module: what go.sum has
	module        bool
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lsm: contents:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: contents FOLDER PROGRAM[,LIBRARY...] VERSION [NAME,VERSION,LICENCE,FILE ...]")
	}
	folder := args[0]
	info, err := inside(strings.Split(args[1], ","))
	if err != nil {
		return err
	}
	parts, err := modules(info)
	if err != nil {
		return err
	}
	for _, a := range args[3:] {
		words := strings.Split(a, ",")
		if len(words) != 4 {
			return fmt.Errorf("%q, want NAME,VERSION,LICENCE,FILE", a)
		}
		p := part{name: words[0], version: words[1], licence: words[2]}
		if words[3] != "" {
			p.files = []string{words[3]}
		}
		parts = append(parts, p)
	}
	for _, p := range parts {
		if err := copyLicences(filepath.Join(folder, "licences"), p); err != nil {
			return err
		}
	}
	at, err := made()
	if err != nil {
		return err
	}
	text, err := document(info.Main.Path, args[2], parts, at)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "lsm.spdx.json"), text, 0o644)
}

// inside returns the build information of the first file, with the modules of all files.
func inside(files []string) (*debug.BuildInfo, error) {
	var all *debug.BuildInfo
	for _, f := range files {
		info, err := buildinfo.ReadFile(f)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = info
			continue
		}
		for _, m := range info.Deps {
			if !slices.ContainsFunc(all.Deps, func(d *debug.Module) bool { return d.Path == m.Path }) {
				all.Deps = append(all.Deps, m)
			}
		}
	}
	return all, nil
}

// made is the time that SOURCE_DATE_EPOCH names, or now.
func made() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Now().UTC(), nil
	}
	var seconds int64
	if _, err := fmt.Sscan(text, &seconds); err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH=%s: %w", text, err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// modules lists the Go modules that a program was made of, Go's own library first. It finds their
// files in the module cache.
func modules(info *debug.BuildInfo) ([]part, error) {
	folders, err := folders()
	if err != nil {
		return nil, err
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOROOT: %w", err)
	}
	list := []part{{name: "std", version: strings.TrimPrefix(info.GoVersion, "go"), module: true,
		files: []string{filepath.Join(strings.TrimSpace(string(goroot)), "LICENSE")}}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		p := part{name: m.Path, version: m.Version, sum: m.Sum, module: true}
		folder := folders[m.Path+"@"+m.Version]
		if folder == "" {
			return nil, fmt.Errorf("%s@%s is in the program, and not in the module cache of this tree", m.Path, m.Version)
		}
		if p.files, err = licences(folder); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	for i, p := range list {
		if list[i].licence, err = recognise(p); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// folders are where the modules of this tree lie, by PATH@VERSION.
func folders() (map[string]string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Path}}@{{.Version}}\t{{.Dir}}", "all").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m: %w", err)
	}
	list := map[string]string{}
	for line := range strings.Lines(string(out)) {
		module, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
		list[module] = folder
	}
	return list, nil
}

var named = regexp.MustCompile(`(?i)licen[cs]e|^copying|^notice`)

// licences finds the files of a module that say under which licence it is.
func licences(folder string) (files []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		switch {
		case !named.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go"):
		case !e.IsDir():
			files = append(files, path)
		default:
			err := filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					files = append(files, path)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// spellings are sentences of the licences that Go modules are under, and what SPDX calls
// them. The first that a text has counts.
var spellings = []struct{ sentence, id string }{
	{"Apache License Version 2.0", "Apache-2.0"},
	{"SIL OPEN FONT LICENSE Version 1.1", "OFL-1.1"},
	{"Mozilla Public License Version 2.0", "MPL-2.0"},
	{"Neither the name", "BSD-3-Clause"},
	{"Redistributions in binary form must reproduce", "BSD-2-Clause"},
	{"Permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"},
	{"Creative Commons Attribution 4.0 International", "CC-BY-4.0"},
	{"Boost Software License", "BSL-1.0"},
}

// choices are the modules whose user chooses among licences.
var choices = map[string]string{"github.com/golang/freetype": "FTL OR GPL-2.0-or-later"}

// recognise names the licences in the files of a module, joined by AND. Files without a licence
// that it knows, such as a NOTICE, count only if no other is there: then they are an error.
func recognise(p part) (string, error) {
	if id := choices[p.name]; id != "" {
		return id, nil
	}
	var found []string
	for _, f := range p.files {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		plain := string(bytes.Join(bytes.Fields(text), []byte(" ")))
		for _, s := range spellings {
			if strings.Contains(plain, s.sentence) {
				found = append(found, s.id)
				break
			}
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) == 0 {
		return "", fmt.Errorf("%s: no licence that is known in %q", p.name, p.files)
	}
	return strings.Join(found, " AND "), nil
}

// copyLicences copies a part's files to FOLDER/NAME.
func copyLicences(folder string, p part) error {
	to := filepath.Join(folder, filepath.FromSlash(p.name))
	for _, f := range p.files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		name := filepath.Base(f)
		for i := 2; ; i++ { // modules with the licences of others have equal names
			if _, err := os.Lstat(filepath.Join(to, name)); err != nil {
				break
			}
			name = fmt.Sprintf("%s-%d", filepath.Base(f), i)
		}
		if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The parts of SPDX that are written.
type (
	document23 struct {
		Version   string     `json:"spdxVersion"`
		License   string     `json:"dataLicense"`
		ID        string     `json:"SPDXID"`
		Name      string     `json:"name"`
		Namespace string     `json:"documentNamespace"`
		Creation  creation   `json:"creationInfo"`
		Packages  []spdx     `json:"packages"`
		Relations []relation `json:"relationships"`
	}
	creation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdx struct {
		Name      string `json:"name"`
		ID        string `json:"SPDXID"`
		Version   string `json:"versionInfo,omitempty"`
		Download  string `json:"downloadLocation"`
		Analyzed  bool   `json:"filesAnalyzed"`
		Concluded string `json:"licenseConcluded"`
		Declared  string `json:"licenseDeclared"`
		Copyright string `json:"copyrightText"`
		Source    string `json:"sourceInfo,omitempty"`
		Refs      []ref  `json:"externalRefs,omitempty"`
	}
	ref struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	relation struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

// document is the SBOM.
func document(program, version string, parts []part, at time.Time) ([]byte, error) {
	const none = "NOASSERTION"
	d := document23{Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: "lsm",
		Creation:  creation{at.Format(time.RFC3339), []string{"Tool: packaging/contents"}},
		Packages:  []spdx{{Name: program, ID: "SPDXRef-lsm", Version: version, Download: none, Concluded: none, Declared: "Apache-2.0", Copyright: none}},
		Relations: []relation{{"SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-lsm"}}}
	for i, p := range parts {
		s := spdx{Name: p.name, ID: fmt.Sprintf("SPDXRef-part-%d", i+1), Version: p.version, Download: none, Concluded: none,
			Declared: p.licence, Copyright: none}
		if p.module {
			s.Refs = []ref{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + p.name + "@" + p.version}}
		}
		if p.sum != "" {
			s.Source = "go.sum: " + p.sum
		}
		d.Packages = append(d.Packages, s)
		d.Relations = append(d.Relations, relation{"SPDXRef-lsm", "CONTAINS", s.ID})
	}
	text, err := json.Marshal(d.Packages)
	if err != nil {
		return nil, err
	}
	d.Namespace = fmt.Sprintf("https://github.com/kirchhoff-lsm/lsm/sbom/%x", sha256.Sum256(text))
	text, err = json.MarshalIndent(d, "", " ")
	return append(text, '\n'), err
}
