package recorded

import (
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/fielddata"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/navigation"
)

// placeOptions are the files of positions and statics of lsm import.
type placeOptions struct {
	sps, positions, statics, key []string
	p190, midpoints              string
}

func (p *placeOptions) define(fl *pflag.FlagSet) {
	fl.StringSliceVar(&p.sps, "sps", nil, "positions from SPS `S,R,X` files: sources, receivers, relations")
	fl.StringVar(&p.p190, "p190", "", "positions from a UKOOA P1/90 `FILE`")
	fl.StringSliceVar(&p.positions, "positions", nil, "positions from CSV `FILE,...`, rows found by header words")
	fl.StringSliceVar(&p.key, "key", nil, "header `WORD,...` that identify records (default: fldr,tracf; CSV: all words)")
	fl.StringVar(&p.midpoints, "midpoints", "", "positions around CDPs: `xy` of the headers, or METRES between CDP numbers")
	fl.StringSliceVar(&p.statics, "statics", nil, "apply static corrections from `header` or from CSV files")
}

// files are the paths of all files, each with the flag that names it.
func (p *placeOptions) files() (list []cli.FileUse) {
	for _, path := range p.sps {
		list = append(list, cli.Use("--sps", path))
	}
	if p.p190 != "" {
		list = append(list, cli.Use("--p190", p.p190))
	}
	for _, path := range p.positions {
		list = append(list, cli.Use("--positions", path))
	}
	if !p.staticsOfHeader() {
		for _, path := range p.statics {
			list = append(list, cli.Use("--statics", path))
		}
	}
	return list
}

func (p *placeOptions) staticsOfHeader() bool { return len(p.statics) == 1 && p.statics[0] == "header" }

// check judges the flags themselves.
func (p *placeOptions) check(o *fielddata.Options) error {
	ways := 0
	for _, given := range []bool{len(p.sps) > 0, p.p190 != "", len(p.positions) > 0, p.midpoints != ""} {
		if given {
			ways++
		}
	}
	words := fielddata.KeyWords()
	unknown := slices.IndexFunc(p.key, func(word string) bool { return !slices.Contains(words, word) })
	switch {
	case ways > 1:
		return errors.New("give one of --sps, --p190, --positions and --midpoints")
	case unknown >= 0:
		return fmt.Errorf("--key: %q is unknown, want some of %s", p.key[unknown], strings.Join(words, ", "))
	case len(p.key) > 0 && len(p.files()) == 0:
		return errors.New("--key has no effect without --sps, --p190, --positions or files of --statics")
	case (len(p.sps) > 0 || p.p190 != "") && len(p.key) != 0 && len(p.key) != 2:
		return fmt.Errorf("--key has %s, want two: of the field record and the channel", readable.Count(len(p.key), "word"))
	case slices.Contains(p.statics, "header") && !p.staticsOfHeader():
		return errors.New("--statics takes header or files, not both")
	}
	if o.Midpoints.On = p.midpoints != ""; o.Midpoints.On && p.midpoints != "xy" {
		v, err := strconv.ParseFloat(p.midpoints, 64)
		if err != nil || !(v > 0 && v <= 1e6) {
			return fmt.Errorf("--midpoints is %q, want xy, or the metres between CDP numbers", p.midpoints)
		}
		o.Midpoints.Spacing = v
	}
	o.ApplyStatics = o.ApplyStatics || len(p.statics) > 0
	return nil
}

// read reads the files.
func (p *placeOptions) read(o *fielddata.Options) error {
	unit, words := fielddata.LengthOf(o.Units), fielddata.KeyWords()
	two := [2]string{"fldr", "tracf"}
	if len(p.key) == 2 {
		two = [2]string(p.key)
	}
	names := fielddata.GivenNames()
	add := func(s navigation.Source, err error) error {
		if err != nil {
			return status.Input(err)
		}
		for _, before := range o.Navigation {
			for _, name := range s.Names() {
				if slices.Contains(before.Names(), name) && !strings.HasSuffix(name, "_static") {
					return status.Input(fmt.Errorf("%s comes from two files: %s; %s", name, before.About(), s.About()))
				}
			}
		}
		o.Navigation = append(o.Navigation, s)
		return nil
	}
	if len(p.sps) > 0 {
		if err := add(navigation.ReadSPS(p.sps, two, unit)); err != nil {
			return err
		}
	}
	if p.p190 != "" {
		if err := add(navigation.ReadP190(p.p190, two, unit)); err != nil {
			return err
		}
	}
	for _, path := range p.positions {
		t, err := navigation.ReadTable(path, p.key, words, names, unit)
		if err == nil {
			err = pairs(path, t.Names())
		}
		if err := add(t, err); err != nil {
			return err
		}
	}
	if p.staticsOfHeader() {
		return nil
	}
	statics := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasSuffix(name, "_static") })
	for _, path := range p.statics {
		if err := add(navigation.ReadTable(path, p.key, words, statics, unit)); err != nil {
			return err
		}
	}
	return nil
}

// pairs refuses an x without its y: the other would come from the header.
func pairs(path string, names []string) error {
	for _, role := range []string{"source", "receiver"} {
		if slices.Contains(names, role+"_x") != slices.Contains(names, role+"_y") {
			return fmt.Errorf("%s: has one of %s_x and %s_y, want both or none: the other would be that of the headers", path, role, role)
		}
	}
	return nil
}

// shownUnmatched is how many records without a trace are named on the terminal.
const shownUnmatched = 5

// tellUnmatched says which records of files of positions no trace has.
func tellUnmatched(a *cli.App, im *fielddata.Import) {
	for _, u := range im.Unmatched {
		a.Report.Printf("positions: %s\n", u.Source)
		a.Report.Event("positions", "source", u.Source, "unmatched", u.Count, "records", u.List)
		if u.Count == 0 {
			continue
		}
		text := strings.Join(u.List[:min(shownUnmatched, len(u.List))], "; ")
		if u.Count > shownUnmatched {
			text += "; ..."
		}
		a.Report.Warn(fmt.Sprintf("%s: %s without a trace: %s", u.Source, readable.Count(u.Count, "record"), text))
	}
}

// writeUnmatched lists the records without a trace in the folder of a report.
func writeUnmatched(im *fielddata.Import, folder string) error {
	if im.Unmatched == nil {
		return nil
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	_ = w.Write([]string{"file", "record"}) // into memory
	for _, u := range im.Unmatched {
		for _, record := range u.List {
			_ = w.Write([]string{u.Source, record})
		}
	}
	w.Flush()
	return pipeline.WriteText(filepath.Join(folder, reportUnmatched), text.String())
}
