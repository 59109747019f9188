package inspect

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/provenance"
	"github.com/kirchhoff-lsm/lsm/internal/quality"
	"github.com/kirchhoff-lsm/lsm/internal/record"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// metadataOptions are the choices of lsm metadata.
type metadataOptions struct{ output, from string }

func newMetadata(a *cli.App) *cobra.Command {
	var o metadataOptions
	cmd := &cobra.Command{
		Use:   "metadata FILE [KEY=TEXT]...",
		Short: "Set or print the record of a file: title, creators, licence",
		Long: `Metadata sets and prints the bibliographic record of a survey, model, image, table or surface
file. The record is stored in the file, as attributes metadata_KEY. Keys:

  title, description, keywords (separated by commas)
  creators    separated by semicolons: "Family, Given (ORCID)", or an organisation
  publisher   who makes the data available
  date        of publication: YYYY, YYYY-MM or YYYY-MM-DD
  licence     an SPDX identifier, such as CC-BY-4.0, or a URL
  identifier  a DOI, such as 10.1234/abcd, or a URL
  origin      where, when and how the data were recorded or made
  crs         the coordinate reference system, such as EPSG:23031

An empty text removes a key. --from reads keys from a TOML file. The file is rewritten with
its numbers unchanged, or left as it is if -o names another one. Its SHA-256 changes, so a
checkpoint made from the former file no longer accepts it. lsm export --metadata writes the
record as DataCite or DCAT JSON.`,
		Example: `  lsm metadata survey.h5 title="Viking Graben line 12" licence=CC-BY-4.0
  lsm metadata survey.h5 --from record.toml -o published.h5
  lsm export published.h5 --metadata datacite -o record.json`,
		Annotations: cli.Exits("3", "4"),
		RunE:        func(cmd *cobra.Command, args []string) error { return o.run(a, args[0], args[1:]) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to write instead of changing the first one")
	cmd.Flags().StringVar(&o.from, "from", "", "TOML `FILE` with keys of the record")
	cli.NotEmpty(cmd, "output", "a file")
	cli.NotEmpty(cmd, "from", "a file")
	return cmd
}

func (o *metadataOptions) run(a *cli.App, path string, set []string) error {
	r, kind, err := recordOf(path)
	if err != nil {
		return err
	}
	change := o.from != "" || len(set) > 0
	if o.from != "" {
		if err := r.Read(o.from); err != nil {
			return err
		}
	}
	for _, entry := range set {
		key, text, ok := strings.Cut(entry, "=")
		if !ok {
			return status.Usage(fmt.Errorf("metadata: %q: want KEY=TEXT", entry))
		}
		if err := r.Set(key, text); err != nil {
			return status.Usage(err)
		}
	}
	out := path
	switch {
	case o.output != "" && !change:
		return status.Usage(errors.New("metadata: -o has no effect: no key is set"))
	case change && !slices.Contains([]string{"survey", "model", "image", "tables", "surface"}, kind):
		return status.Input(fmt.Errorf("%s: a file of kind %s takes no record", path, kind))
	case o.output != "":
		out = o.output
		if err := a.CheckOutput(cli.Named("the input", path, "--from", o.from), out, a.Force); err != nil {
			return err
		}
	}
	if change {
		if err := h5.Revise(path, out, record.Prefix, r.Attrs(), a.Force); err != nil {
			return err
		}
	}
	tellRecord(a, r)
	if change {
		a.Wrote(kind, out)
	}
	return nil
}

// recordOf reads the record of a file, and of which kind it is.
func recordOf(path string) (record.Record, string, error) {
	d, err := h5.Describe(path, h5.DescribeOptions{})
	if err != nil {
		return nil, "", withFormatHint(path, err)
	}
	return record.FromAttrs(d.Attrs), d.Kind, nil
}

// tellRecord prints a record.
func tellRecord(a *cli.App, r record.Record) {
	var rows [][2]string
	keyValues := []any{}
	for _, key := range record.Keys() {
		if r[key] != "" {
			rows = append(rows, [2]string{key, valueText(r[key])})
			keyValues = append(keyValues, key, r[key])
		}
	}
	if rows == nil {
		a.Report.Printf("no record: lsm metadata FILE title=... gives it one\n")
	}
	columns(a, rows)
	a.Report.Event("metadata", keyValues...)
}

// exportRecord writes the record of a file in a format.
func exportRecord(a *cli.App, path, format, out string) error {
	r, kind, err := recordOf(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return status.Input(err)
	}
	in, err := provenance.Hash("file", path)
	if err != nil {
		return status.Input(err)
	}
	text, err := r.Export(format, record.File{Kind: kind, Name: filepath.Base(path), Bytes: info.Size(), SHA256: in.SHA256})
	if err != nil {
		return err
	}
	if err := pipeline.WriteText(out, string(text)); err != nil {
		return err
	}
	a.Wrote(format+" record", out)
	return nil
}

// fair are the rows of the readiness table on what others need to use a file.
func fair(path string) ([]quality.Row, error) {
	r, _, err := recordOf(path)
	if err != nil {
		return nil, err
	}
	wanted := []string{record.Title, record.Creators, record.Licence, record.Identifier, record.Origin, record.CRS}
	missing := r.Missing(wanted...)
	score, limit := 1-float64(len(missing))/float64(len(wanted)), 1.0
	row := quality.Row{Group: quality.FAIR, Name: "metadata", Level: quality.OK, Score: &score, Limit: &limit, Text: "the record is complete"}
	if missing != nil {
		row.Level, row.Text = quality.Note, "the record lacks "+strings.Join(missing, ", ")+" (lsm metadata sets them)"
	}
	return []quality.Row{row, {Group: "privacy", Name: "personal data", Level: quality.OK,
		Text: "does not apply: traces and positions hold no personal data; the creators in the record are meant to be public"}}, nil
}
