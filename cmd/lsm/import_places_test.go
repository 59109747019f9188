package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// TestImportPositions imports one survey whose headers have no positions with files of each
// kind that have them. All give the places and static corrections that the files were made
// from. A trace that the files lack is left out, a record without a trace is named.
func TestImportPositions(t *testing.T) {
	quietEnvironment(t)
	t.Chdir(t.TempDir())
	const shots, channels = 3, 8
	source := func(i int) (x, y float64) { return 500000 + 50*float64(i), 6e6 + 0.5 }
	receiver := func(i, k int) (x, y float64) { return 500100 + 50*float64(i) + 25*float64(k), 6e6 }
	var traces bytes.Buffer
	w, err := segy.NewWriter(&traces, segy.Spec{Major: 1, Samples: 60, Interval: 4000})
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float32, 60)
	for i := range shots + 1 { // the files lack the last shot
		for k := range channels {
			for n := range v {
				v[n] = float32(math.Sin(0.4*float64(n) + float64(i) + 0.1*float64(k)))
			}
			if err := w.Write(map[segy.Field]int64{segy.TraceID: 1, segy.FieldRecord: int64(10 + i), segy.Channel: int64(1 + k), segy.SourcePoint: int64(2000 + i)}, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := "H00 SPS format version num.     SPS 2.1, JAN2006\n"
	r, x := s, s
	p := "H0100SURVEY AREA                    A sea\n"
	table := "fldr,tracf,source_x,source_y,source_depth,receiver_x,receiver_y,receiver_depth\n"
	statics := "fldr,source_static\n"
	for i := range shots {
		sx, sy := source(i)
		s += fmt.Sprintf("S%10.2f%10.2f%3d%2s%4d%4.1f%4d%2s%6s%9.1f%10.1f%6.1f%3d%06d\n", 1.0, float64(100+i), 1, "A1", 8, 6.0, 0, "", "", sx, sy, 0.0, 1, 0)
		p += fmt.Sprintf("%-17s1 %6d%10s%11s%9.1f%9.1f%6.1f%3d%06d\n", "SLINE", 2000+i, "", "", sx, sy, 0.0, 1, 0)
		x += fmt.Sprintf("X%6d%8d%1d%1d%10.2f%10.2f%1d%5d%5d%1d%10.2f%10.2f%10.2f%1d\n", 1, 10+i, 1, 1, 1.0, float64(100+i), 1, 1, channels+1, 1, 2.0, float64(200+2*i), float64(200+2*i+channels), 1)
		statics += fmt.Sprintf("%d,8\n", 10+i)
		group := "R"
		for k := range channels + 1 { // one more than there are traces
			rx, ry := receiver(i, k)
			if group += fmt.Sprintf("%4d%9.1f%9.1f%4.1f", k+1, rx, ry, 7.0); k%3 == 2 || k == channels {
				p, group = p+group+"\n", "R"
			}
			table += fmt.Sprintf("%d,%d,%g,%g,6,%g,%g,7\n", 10+i, k+1, sx, sy, rx, ry)
		}
	}
	for k := range channels + 1 + 2*shots {
		rx, ry := receiver(0, k)
		r += fmt.Sprintf("R%10.2f%10.2f%3d%2s%4s%4.1f%4d%2s%6s%9.1f%10.1f%6.1f%3d%06d\n", 2.0, float64(200+k), 1, "G1", "", 7.0, 0, "", "", rx, ry, 0.0, 1, 0)
	}
	for name, text := range map[string]string{"in.sgy": traces.String(), "l.s": s, "l.r": r, "l.x": x, "l.p190": p, "nav.csv": table, "statics.csv": statics} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{
		"SPS":   {"--sps", "l.s,l.r,l.x", "--statics", "header"},
		"P1/90": {"--p190", "l.p190", "--key", "ep,tracf", "--source-z", "6"},
		"CSV":   {"--positions", "nav.csv", "--key", "fldr,tracf"},
		"both":  {"--positions", "nav.csv", "--statics", "statics.csv"},
	} {
		out := strings.ReplaceAll(name, "/", "") + ".h5"
		var text, errs bytes.Buffer
		code := run(append([]string{"import", "in.sgy", "-o", out, "--ricker", "20", "--report", out + ".qc", "--line-origin", "500000,6000000", "--azimuth", "90"}, args...), &text, &errs)
		if code != status.Done {
			t.Fatalf("%s: status %d: %s", name, code, errs.String())
		}
		got, err := surveytest.Read(out)
		if err != nil {
			t.Fatal(err)
		}
		if got.NumTraces() != shots*channels {
			t.Errorf("%s: %d traces, want %d", name, got.NumTraces(), shots*channels)
		}
		for n := range got.NumTraces() {
			from, to := got.Pair(n)
			sx, _ := source(n / channels)
			rx, _ := receiver(n/channels, n%channels)
			want := []float64{sx - 500000, 6, rx - 500000, 7}
			if have := append(slices.Clone(got.Source(from)), got.Receiver(to)...); !slices.EqualFunc(have, want, func(a, b float64) bool { return math.Abs(a-b) < 0.051 }) {
				t.Errorf("%s: trace %d is at %v, want %v", name, n, have, want)
			}
		}
		shift := 0 // 8 ms are two samples
		if name == "SPS" || name == "both" {
			shift = 2
		}
		if have, want := float64(got.Data[20+shift]), math.Sin(0.4*20); math.Abs(have-want) > 1e-6 {
			t.Errorf("%s: sample %d is %g, want %g", name, 20+shift, have, want)
		}
		if !strings.Contains(text.String(), fmt.Sprintf("%d are not in the files of positions", channels)) {
			t.Errorf("%s: %s", name, text.String())
		}
		if !strings.Contains(errs.String(), "3 records without a trace: ") || !strings.Contains(errs.String(), "9; ") {
			t.Errorf("%s: %s", name, errs.String())
		}
		if _, err := os.Stat(filepath.Join(out+".qc", "unmatched.csv")); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadFile(strings.TrimSuffix(out, ".h5") + "-left-out.csv"); bytes.Count(left, []byte("\n")) != 1+channels || !bytes.Contains(left, []byte("is not in")) {
			t.Errorf("%s: %s", name, left)
		}
	}
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{status.BadInput, "no relations (X)", []string{"--sps", "l.s,l.r"}},
		{status.BadInput, "none.s: no such file", []string{"--sps", "none.s,l.r,l.x"}},
		{status.BadUsage, "give one of --sps, --p190, --positions and --midpoints", []string{"--sps", "l.s,l.r,l.x", "--p190", "l.p190"}},
		{status.BadUsage, `--key: "shot" is unknown`, []string{"--p190", "l.p190", "--key", "shot,tracf"}},
		{status.BadUsage, "--sps is empty", []string{"--sps", ""}},
		{status.BadUsage, "--p190 is empty", []string{"--p190", ""}},
		{status.BadUsage, "--key has no effect", []string{"--key", "fldr"}},
		{status.BadUsage, "header or files, not both", []string{"--statics", "header,statics.csv"}},
		{status.BadInput, "none of the 32 traces can be used", []string{"--p190", "l.p190"}}, // fldr is no shot point
		{status.BadInput, `column "source_x" is unknown`, []string{"--statics", "nav.csv"}},
		{status.BadInput, `begins with "f", want a record of P1/90`, []string{"--p190", "statics.csv"}},
	} {
		var text, errs bytes.Buffer
		if code := run(append([]string{"import", "in.sgy"}, c.args...), &text, &errs); code != c.code || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%v: status %d, want %d and %s: %s", c.args, code, c.code, c.says, errs.String())
		}
	}
}

// TestImportMidpoints imports CDP gathers whose headers have CDPs and offsets alone.
func TestImportMidpoints(t *testing.T) {
	quietEnvironment(t)
	t.Chdir(t.TempDir())
	var traces bytes.Buffer
	w, err := segy.NewWriter(&traces, segy.Spec{Major: 1, Samples: 60, Interval: 4000})
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float32, 60)
	for i := range 12 {
		for n := range v {
			v[n] = float32(math.Sin(0.4*float64(n) + float64(i)))
		}
		cdp := int64(i / 3)
		fields := map[segy.Field]int64{segy.TraceID: 1, segy.CDP: 100 + cdp, segy.Offset: 200 * int64(1+i%3), segy.CDPX: 3000 + 30*cdp, segy.CDPY: 1000 + 40*cdp, segy.CoordinateScalar: 1}
		if err := w.Write(fields, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("cdp.sgy", traces.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for midpoints, origin := range map[string]float64{"xy": 0, "50": 5000} {
		var text, errs bytes.Buffer
		args := []string{"import", "cdp.sgy", "-o", midpoints + ".h5", "--ricker", "20", "--midpoints", midpoints}
		if midpoints == "xy" {
			args = append(args, "--line-origin", "3000,1000")
		}
		if code := run(args, &text, &errs); code != status.Done {
			t.Fatalf("%s: status %d: %s", midpoints, code, errs.String())
		}
		s, err := surveytest.Read(midpoints + ".h5")
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.NumTraces() {
			from, to := s.Pair(i)
			middle, half := origin+50*float64(i/3), 100*float64(1+i%3)
			if a, b := s.Source(from)[0], s.Receiver(to)[0]; math.Abs(a-(middle-half)) > 0.1 || math.Abs(b-(middle+half)) > 0.1 {
				t.Errorf("%s: trace %d: %g and %g, want %g and %g", midpoints, i, a, b, middle-half, middle+half)
			}
		}
	}
	for says, args := range map[string][]string{
		`--midpoints is "near"`:             {"--midpoints", "near"},
		"midpoints and offsets make a line": {"--midpoints", "xy", "--3d"},
		"and --midpoints":                   {"--midpoints", "xy", "--positions", "a.csv"},
	} {
		var text, errs bytes.Buffer
		if code := run(append([]string{"import", "cdp.sgy"}, args...), &text, &errs); code != status.BadUsage || !strings.Contains(errs.String(), says) {
			t.Errorf("%v: status %d: %s", args, code, errs.String())
		}
	}
}
