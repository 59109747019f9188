package inspect

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/progress"
	"github.com/kirchhoff-lsm/lsm/internal/sniff"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

func newInfo(a *cli.App) *cobra.Command {
	var options h5.DescribeOptions
	var unguarded bool
	cmd := &cobra.Command{
		Use:   "info FILE",
		Short: "Show what a file holds",
		Long: `Info prints what a file holds: a summary of a file of lsm, each dataset with shape, type and
attributes, and for an image how it was made. A file that lsm cannot use is printed as far as
it can be read, with what is wrong, and the exit status is 3.`,
		Example: `  lsm info survey.h5
  lsm info image.h5 --range --verify`,
		Annotations: cli.Exits("3", "4"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := args[0]
			if unguarded {
				return h5.Try(path)
			}
			d, err := h5.Describe(path, options)
			if err != nil {
				return withFormatHint(path, err)
			}
			fault := summary(a, d)
			describe(a, d)
			for _, o := range d.Objects {
				switch {
				case fault != nil:
				case o.Fault != "":
					fault = status.Input(fmt.Errorf("%s: %s: %s", path, o.Name, o.Fault))
				case o.Digest == h5.DigestDiffers:
					fault = status.Input(fmt.Errorf("%s: %s: differs from its sha256 attribute: changed or damaged since it was written", path, o.Name))
				}
			}
			a.Finish("kind", d.Kind)
			return fault
		},
	}
	cmd.Flags().BoolVar(&options.Range, "range", false, "least and greatest value of each dataset (reads everything)")
	cmd.Flags().BoolVar(&options.Digest, "verify", false, "compare each dataset with its digest (reads everything)")
	cmd.Flags().BoolVar(&unguarded, "unguarded", false, "only read what damage can crash the HDF5 library with: what a child does")
	_ = cmd.Flags().MarkHidden("unguarded") // the only error is a name that does not exist
	return cmd
}

// withFormatHint says what to do with a file that is not HDF5.
func withFormatHint(path string, err error) error {
	if strings.HasSuffix(path, ".toml") && errors.Is(err, h5.ErrInput) {
		return status.Hint(err, "to check a configuration: lsm check "+path)
	}
	if ext := strings.ToLower(filepath.Ext(path)); errors.Is(err, h5.ErrInput) && (ext == ".sgy" || ext == ".segy" || ext == ".su") {
		return status.Hint(err, "to look at SEG-Y and SU files: lsm import "+path)
	}
	if kind, fault := sniff.Path(path); fault == nil && kind.Model() && errors.Is(err, h5.ErrInput) && kind != sniff.HDF5 && kind != sniff.MAT73 {
		return status.Hint(err, kind.Hint(path))
	}
	return err
}

// describe prints every dataset and the attributes of the root.
func describe(a *cli.App, d *h5.Description) {
	var objects, attrs [][2]string
	for i, o := range d.Objects {
		if !plumbing(o) {
			objects = append(objects, [2]string{o.Name, describeObject(o)})
		}
		finiteAttrs(d.Objects[i].Attrs)
	}
	for _, at := range d.Attrs {
		if at.Name != "sha256_attributes" {
			attrs = append(attrs, [2]string{at.Name, valueText(at.Value)})
		}
	}
	finiteAttrs(d.Attrs)
	a.Report.Printf("\n")
	columns(a, objects)
	if len(d.Attrs) > 0 {
		a.Report.Printf("\nattributes of the file\n")
	}
	columns(a, attrs)
	a.Report.Event("file", "path", d.Path, "bytes", d.Bytes, "format", d.Format, "kind", d.Kind,
		"attributes", d.Attrs, "objects", d.Objects)
}

// columns prints names and their texts in two columns.
func columns(a *cli.App, rows [][2]string) {
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0]))
	}
	for _, row := range rows {
		a.Report.Printf("  %-*s  %s\n", width, row[0], row[1])
	}
}

// plumbing reports whether an object is of interest only to programs: a group,
// whose contents are listed anyway, or the coordinates of an axis.
func plumbing(o h5.Object) bool {
	scale := false
	for _, at := range o.Attrs {
		scale = scale || at.Name == "CLASS" && at.Value == "DIMENSION_SCALE"
	}
	return o.Fault == "" && (o.Class == "group" || scale)
}

func describeObject(o h5.Object) string {
	var b strings.Builder
	if o.Class != "dataset" {
		b.WriteString(o.Class)
	} else {
		fmt.Fprintf(&b, "%s  %s", shapeText(o.Shape), o.Type)
	}
	for _, at := range o.Attrs {
		switch at.Name {
		case "sha256", "sha256_attributes", "CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "DIMENSION_LABELS":
			// Only programs need these.
		default:
			fmt.Fprintf(&b, "  %s=%s", at.Name, valueText(at.Value))
		}
	}
	if o.Min != nil && o.Max != nil {
		fmt.Fprintf(&b, "  from %.6g to %.6g", *o.Min, *o.Max)
	}
	if o.NotFinite > 0 {
		fmt.Fprintf(&b, "  %d NaN or infinite", o.NotFinite)
	}
	if len(o.Filters) > 0 {
		fmt.Fprintf(&b, "  %s, %s stored", strings.Join(o.Filters, "+"), humanize.IBytes(uint64(o.Stored)))
	}
	if o.Digest != "" {
		fmt.Fprintf(&b, "  digest %s", o.Digest)
	}
	if o.Fault != "" {
		fmt.Fprintf(&b, "  FAULT: %s", o.Fault)
	}
	return b.String()
}

func shapeText(shape []int) string {
	if len(shape) == 0 {
		return "scalar"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", "×")
}

// valueText is an attribute's value on one line.
func valueText(v any) string {
	text := fmt.Sprint(v)
	if s, ok := v.(string); ok {
		text = s
	}
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", " | ")
	if n := []rune(text); len(n) > 100 {
		text = string(n[:97]) + "..."
	}
	return text
}

// finiteAttrs replaces numbers that JSON cannot hold with nil.
func finiteAttrs(list []h5.Attr) {
	for i, at := range list {
		list[i].Value = progress.Finite(at.Value)
	}
}
