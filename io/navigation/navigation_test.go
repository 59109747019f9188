package navigation

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Records of the standards' own examples: SPS 2.1 (SEG, 2006).
const (
	exampleS = "H00 SPS format version num.     SPS 2.1, JAN2006\n" +
		"H26 Item  Definition of field       Cols   Format  Min to Max     Default  Units\n" +
		"S   3762.00   3961.25  1A2     7.2   0    64.8 454773.4 3008241.9  -0.2177042821\n" +
		"S   3762.00   3959.00  1A2 -12 7.2   0    64.7 454762.9 3008193.0  -0.2177042841\n"
	exampleX = "H00 SPS format version number   SPS 2.1, JAN2006\n" +
		"X  1001   8287311   3762.00   3961.251    1    51     27.00    101.00    105.001\n" +
		"X  1001   8287311   3762.00   3961.251    6    82     28.00    101.00    102.001\n"
)

// exampleR are receivers 101 to 105 of line 27 and two of line 28, 50 m apart.
func exampleR() string {
	text := "H00 SPS format version num.     SPS 2.1, JAN2006\n"
	for i := range 7 {
		line, point := 27+i/5, 101+i%5
		text += fmt.Sprintf("R%10.2f%10.2f%3d%2s%4s%4.1f%4d%2s%6s%9.1f%10.1f%6.1f%3d%06d\n", float64(line), float64(point), 1, "G1", "3", 0.5, 0, "", "", 454700+50*float64(i), 3008200.0, 12.5, 217, 42821)
	}
	return text
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// headerOf is a trace header with a few words.
func headerOf(words map[string]int64) func(string) int64 {
	return func(word string) int64 { return words[word] }
}

var fldrTracf = [2]string{"fldr", "tracf"}

func TestSPS(t *testing.T) {
	s, err := ReadSPS([]string{write(t, "a.s", exampleS), write(t, "a.r", exampleR()), write(t, "a.x", exampleX)}, fldrTracf, 0)
	if err != nil {
		t.Fatal(err)
	}
	v, missing := s.Find(headerOf(map[string]int64{"fldr": 82873, "tracf": 3}))
	if missing != "" {
		t.Fatal(missing)
	}
	for name, want := range (Values{"source_x": 454773.4, "source_y": 3008241.9, "source_elevation": -0.2, "source_depth": 7.2,
		"receiver_x": 454800, "receiver_y": 3008200, "receiver_elevation": 12.5, "receiver_depth": 0.5, "receiver_static": 3}) {
		if math.Abs(v[name]-want) > 1e-9 {
			t.Errorf("%s is %g, want %g", name, v[name], want)
		}
	}
	if _, given := v["source_static"]; given {
		t.Error("a blank static correction is given")
	}
	if v, _ = s.Find(headerOf(map[string]int64{"fldr": 82873, "tracf": 8})); v["receiver_x"] != 455000 {
		t.Errorf("every second channel: %v", v)
	}
	for _, c := range []struct {
		record, channel int64
		missing         string
	}{{82873, 7, "channel 7 of field record 82873"}, {82873, 12, "channel 12"}, {5, 1, "field record 5 is not"}} {
		if _, missing := s.Find(headerOf(map[string]int64{"fldr": c.record, "tracf": c.channel})); !strings.Contains(missing, c.missing) {
			t.Errorf("%d, %d: %q", c.record, c.channel, missing)
		}
	}
	if list, n := s.Unused(2); n != 5 || !slices.Equal(list, []string{"field record 82873, channel 1", "field record 82873, channel 2"}) {
		t.Errorf("unused: %v of %d", list, n)
	}
}

// TestSPSComponents reads relations of receivers with three channels each.
func TestSPSComponents(t *testing.T) {
	x := strings.Replace(exampleX, "    1    51     27.00    101.00    105.00", "    1   153     27.00    101.00    105.00", 1)
	x = strings.Replace(x, "    6    82", "   16   182", 1)
	s, err := ReadSPS([]string{write(t, "a.sps", exampleS+exampleR()+x)}, fldrTracf, 0)
	if err != nil {
		t.Fatal(err)
	}
	for channel, want := range map[int64]float64{1: 454700, 3: 454700, 4: 454750, 15: 454900, 18: 455000} {
		v, missing := s.Find(headerOf(map[string]int64{"fldr": 82873, "tracf": channel}))
		if missing != "" || v["receiver_x"] != want {
			t.Errorf("channel %d: %v %s, want %g", channel, v["receiver_x"], missing, want)
		}
	}
	if _, missing := s.Find(headerOf(map[string]int64{"fldr": 82873, "tracf": 17})); missing == "" {
		t.Error("channel 17 lies between two that count")
	}
	if _, n := s.Unused(1); n != 15+2-5 {
		t.Errorf("%d unused", n)
	}
}

// TestSPS1 reads the layout of 1995, in feet.
func TestSPS1(t *testing.T) {
	head := "H00 SPS format version num.     SPS001,08.05.94;\nH201Factor to metre             0.3048;\n"
	point := func(kind, line, number string, x, y float64) string {
		return fmt.Sprintf("%s%-16s%8s1%2s%4s%4.1f%4s%2s%4s%9.1f%10.1f%6.1f%3d%06d\n", kind, line, number, "E1", "-4", 3.0, "0", "", "", x, y, 10.0, 1, 120000)
	}
	example := "S3762                39611A2     7.2   0  64.8 454773.4 3008241.9  -0.2177042821\n" // of the standard of 1990
	x := fmt.Sprintf("X%6s%4d11%-16s%8s1%4d%4d1%-16s%8s%8s1\n", "1", 7, "A", "11", 1, 2, "B", "21", "22")
	s, err := ReadSPS([]string{write(t, "a.sps", head+example+point("S", "A", "11", 1000, 2000)+point("R", "B", "21", 100, 200)+point("R", "B", "22", 300, 200)+x)}, fldrTracf, 0)
	if err != nil {
		t.Fatal(err)
	}
	v, missing := s.Find(headerOf(map[string]int64{"fldr": 7, "tracf": 2}))
	if p := s.places[0][station{"3762", 3961, 1}]; math.Abs(p.values[0]-454773.4*0.3048) > 1e-6 || math.Abs(p.values[1]-3008241.9*0.3048) > 1e-6 || math.Abs(p.values[3]-7.2*0.3048) > 1e-9 || p.static {
		t.Errorf("the example of the standard is at %v", p)
	}
	if missing != "" || math.Abs(v["receiver_x"]-300*0.3048) > 1e-9 || math.Abs(v["source_depth"]-3*0.3048) > 1e-9 || v["source_static"] != -4 {
		t.Errorf("%v %s", v, missing)
	}
}

func TestBadSPS(t *testing.T) {
	good := exampleS + exampleR()
	for name, c := range map[string]struct{ from, to, says string }{
		"revision":         {"SPS 2.1, JAN2006", "SPS 3", `line 1: the revision is "SPS 3", want SPS001 or SPS 2.1`},
		"no revision":      {"H00 ", "H99 ", "no record H00"},
		"no number":        {"454773.4", "4547x3.4", `line 3: columns 47 to 55, easting: "4547x3.4" is no number`},
		"hexadecimal":      {" 454773.4", "    0x1p4", "easting"},
		"infinite":         {" 454773.4", "      inf", "easting"},
		"half a position":  {" 454773.4", "         ", "columns 47 to 55, easting: blank"},
		"two places":       {"   3959.00", "   3961.25", "line 4: line 3762, point 3961.25 is there before, elsewhere"},
		"another record":   {"R     28.00    102", "Q     28.00    102", `begins with "Q"`},
		"too many columns": {"-0.2177042841", "-0.2177042841 AND MORE", "columns, records of SPS have 80"},
		"overlap":          {"    6    82", "    5    72", "channels 5 to 5 of field record 82873 are there before"},
		"two sources":      {"3961.251    6", "3959.001    6", "field record 82873 has two sources"},
		"channels":         {"    1    51", "    5    11", "channels 5 to 1 by 1 are none"},
		"no relation":      {"X  1001", "H  1001", "no relations (X)"},
	} {
		text := strings.ReplaceAll(good+exampleX, c.from, c.to)
		_, err := ReadSPS([]string{write(t, "a.sps", text)}, fldrTracf, 0)
		var at *Error
		if err == nil || !errors.As(err, &at) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
	if _, err := ReadSPS([]string{write(t, "a.sps", "H00 SPS format version num.     SPS001;\nH201Factor to metre             0.3048;\n")}, fldrTracf, 1); err == nil || !strings.Contains(err.Error(), "--units") {
		t.Errorf("two units: %v", err)
	}
}

// exampleP190 is a shot of one source and four groups of each of two streamers.
func exampleP190(second string) string {
	groups := func(streamer string, y float64) string {
		text := "R"
		for k := range 3 {
			text += fmt.Sprintf("%4d%9.1f%9.1f%4.1f", k+1, 500000.3+100*float64(k), y, 8.0)
		}
		return fmt.Sprintf("%-79s%s\n%-79s%s\n", text, streamer, fmt.Sprintf("R%4d%9.1f%9.1f%4.1f", 4, 500300.0, y, 8.5), streamer)
	}
	text := "H0100SURVEY AREA                    A sea\n"
	for i := range 2 {
		text += fmt.Sprintf("%-19s%6d%10s%11s%9.1f%9.1f%6.1f%3d%06d\n", "VLINE 12", 1001+i, "582500.00N", "0031000.00E", 500450.0, 6400000.0, 100.0, 12, 101010)
		text += fmt.Sprintf("%-17s1 %6d%10s%11s%9.1f%9.1f%6.1f%3d%06d\n", "SLINE 12", 1001+i, "582500.00N", "0031000.00E", 500400+25*float64(i), 6400000.5, 100.0, 12, 101010)
		text += groups("1", 6400000)
		if second != "" {
			text += groups(second, 6400050)
		}
	}
	return text + "EOF\n"
}

func TestP190(t *testing.T) {
	p, err := ReadP190(write(t, "a.p190", exampleP190("2")), [2]string{"ep", "tracf"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	v, missing := p.Find(headerOf(map[string]int64{"ep": 1002, "tracf": 6})) // the second of streamer 2
	if missing != "" || v["source_x"] != 500425 || v["source_y"] != 6400000.5 || v["receiver_x"] != 500100.3 || v["receiver_y"] != 6400050 || v["receiver_depth"] != 8 {
		t.Errorf("%v %s", v, missing)
	}
	if _, missing = p.Find(headerOf(map[string]int64{"ep": 1002, "tracf": 9})); missing == "" {
		t.Error("channel 9 is there")
	}
	if list, n := p.Unused(1); n != 15 || list[0] != "shot point 1001, channel 1" {
		t.Errorf("unused: %v of %d", list, n)
	}
	for name, c := range map[string]struct{ from, to, says string }{
		"a group twice":    {"   2 500100.3", "   1 500100.3", "receiver group 1 is there before"},
		"a point twice":    {"  1002582500", "  1001582500", "point 1001 is there before"},
		"no number":        {"500425.0", "5004,5.0", "columns 47 to 55, easting"},
		"no receivers":     {"\nR", "\nZ", "no receiver group record (R)"},
		"no sources":       {"\nS", "\nV", "receiver groups stand before any source"},
		"another format":   {"H0100", "@0100", `begins with "@"`},
		"no whole channel": {"   2 500100.3", " 2.5 500100.3", "is no whole number"},
	} {
		if _, err := ReadP190(write(t, "a.p190", strings.ReplaceAll(exampleP190(""), c.from, c.to)), fldrTracf, 0); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
}

const exampleCSV = "# from the observer's log\nfldr, tracf, source_x, source_y, receiver_x, receiver_y, source_static\n7, 1, 0, 0, 100, 5, -3.5\n7, 2, 0, 0, 125, 5,\n"

var (
	tableWords = []string{"cdp", "ep", "fldr", "tracf"}
	tableNames = []string{"source_x", "source_y", "receiver_x", "receiver_y", "source_static"}
)

func TestTable(t *testing.T) {
	table, err := ReadTable(write(t, "a.csv", exampleCSV), nil, tableWords, tableNames, 0.3048)
	if err != nil {
		t.Fatal(err)
	}
	v, missing := table.Find(headerOf(map[string]int64{"fldr": 7, "tracf": 1}))
	if missing != "" || math.Abs(v["receiver_x"]-30.48) > 1e-9 || v["source_static"] != -3.5 {
		t.Errorf("%v %s", v, missing)
	}
	if _, missing = table.Find(headerOf(map[string]int64{"fldr": 8, "tracf": 1})); missing != "fldr 8, tracf 1 is not in "+table.path {
		t.Error(missing)
	}
	if list, n := table.Unused(9); n != 1 || list[0] != "fldr 7, tracf 2" {
		t.Errorf("unused: %v of %d", list, n)
	}
	for name, c := range map[string]struct{ from, to, says string }{
		"column":     {"receiver_y", "receiver_q", `column "receiver_q" is unknown`},
		"twice":      {"7, 2", "7, 1", "line 4: fldr 7, tracf 1 is there before"},
		"number":     {"125", "12a", `line 4: column receiver_x: "12a" is no number`},
		"key":        {"7, 2", "7.5, 2", `line 4: column fldr: "7.5" is no whole number`},
		"short row":  {", 5,\n", "\n", "wrong number of fields"},
		"no keys":    {"fldr, tracf", "source_static, source_static", "twice"},
		"only names": {exampleCSV[strings.Index(exampleCSV, "7, 1"):], "", "has no rows"},
	} {
		if _, err := ReadTable(write(t, "a.csv", strings.ReplaceAll(exampleCSV, c.from, c.to)), nil, tableWords, tableNames, 0); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
	for name, c := range map[string]struct{ from, to, says string }{
		"no source x":   {"7, 2, 0, 0", "7, 2, , 0", "line 4: column source_x is blank beside source_y"},
		"no source y":   {"7, 2, 0, 0", "7, 2, 0,", "line 4: column source_y is blank beside source_x"},
		"no receiver x": {"125, 5", " , 5", "line 4: column receiver_x is blank beside receiver_y"},
		"no receiver y": {"100, 5", "100, ", "line 3: column receiver_y is blank beside receiver_x"},
	} {
		if _, err := ReadTable(write(t, "a.csv", strings.Replace(exampleCSV, c.from, c.to, 1)), nil, tableWords, tableNames, 0); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", name, err, c.says)
		}
	}
	header, err := ReadTable(write(t, "a.csv", strings.Replace(exampleCSV, "7, 2, 0, 0", "7, 2, ,", 1)), nil, tableWords, tableNames, 0)
	if err != nil {
		t.Fatal("a whole place is left to the header:", err)
	}
	if v, _ := header.Find(headerOf(map[string]int64{"fldr": 7, "tracf": 2})); len(v) != 2 {
		t.Errorf("a blank place: %v, want that of the receiver alone", v)
	}
	if _, err := ReadTable(write(t, "a.csv", exampleCSV), []string{"ep"}, tableWords, tableNames, 0); err == nil {
		t.Error("a key that is no column")
	}
}

// Tables of spreadsheets: semicolons or tabs, empty cells, a byte order mark.
func TestTableSeparators(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"commas":     "fldr,source_x,source_y,receiver_x,receiver_y\n7,100.5,3,,\n",
		"semicolons": "fldr;source_x;source_y;receiver_x;receiver_y\n7;100.5;3;;\n",
		"tabs":       "# a note, with commas\nfldr\treceiver_x\treceiver_y\tsource_y\tsource_x\n7\t\t\t3\t100.5\n",
	} {
		for _, begin := range []string{"", "\ufeff"} {
			table, err := ReadTable(write(t, "a.csv", begin+text), nil, tableWords, tableNames, 0)
			if err != nil {
				t.Errorf("%s, %q: %v", name, begin, err)
				continue
			}
			v, missing := table.Find(headerOf(map[string]int64{"fldr": 7}))
			if _, empty := v["receiver_x"]; v["source_x"] != 100.5 || v["source_y"] != 3 || empty || missing != "" {
				t.Errorf("%s: %v %s", name, v, missing)
			}
		}
	}
	if _, err := ReadTable(write(t, "a.csv", "fldr;source_x\n7;100,5\n"), nil, tableWords, tableNames, 0); err == nil || !strings.Contains(err.Error(), `"100,5" is no number`) {
		t.Errorf("a decimal comma: %v", err)
	}
}

// TestMutants reads files of each kind that seeded damage was done to. They are refused, with
// the file's name, or give finite numbers.
func TestMutants(t *testing.T) {
	const mutants = 100
	for name, c := range map[string]struct {
		text string
		read func(path string) (Source, error)
		key  func(i int64) map[string]int64
	}{
		"SPS": {exampleS + exampleR() + exampleX, func(path string) (Source, error) { return ReadSPS([]string{path}, fldrTracf, 0) },
			func(i int64) map[string]int64 { return map[string]int64{"fldr": 82873, "tracf": i} }},
		"P1/90": {exampleP190("2"), func(path string) (Source, error) { return ReadP190(path, fldrTracf, 0) },
			func(i int64) map[string]int64 { return map[string]int64{"fldr": 1001 + i%2, "tracf": i} }},
		"CSV": {exampleCSV, func(path string) (Source, error) { return ReadTable(path, nil, tableWords, tableNames, 0) },
			func(i int64) map[string]int64 { return map[string]int64{"fldr": 7, "tracf": i} }},
	} {
		refused := 0
		for seed := range uint64(mutants) {
			random := rand.New(rand.NewPCG(7, seed))
			path := write(t, "mutant", string(damaged(random, []byte(c.text))))
			s, err := c.read(path)
			var at *Error
			switch {
			case err != nil && (!errors.As(err, &at) || !strings.Contains(err.Error(), path)):
				t.Errorf("%s, seed %d: %v", name, seed, err)
			case err != nil:
				refused++
			default:
				for i := range int64(10) {
					v, _ := s.Find(headerOf(c.key(i)))
					for what, x := range v {
						if x-x != 0 {
							t.Errorf("%s, seed %d: %s is %g", name, seed, what, x)
						}
					}
				}
				if list, n := s.Unused(5); len(list) > 5 || n < len(list) || s.About() == "" {
					t.Errorf("%s, seed %d: %d unused, %v", name, seed, n, list)
				}
			}
		}
		t.Logf("%s: %d of %d mutants refused", name, refused, mutants)
		if refused == 0 || refused == mutants {
			t.Errorf("%s: the damage is too great or too small to tell anything", name)
		}
	}
}

// damaged changes, removes, repeats or adds bytes in one to three places.
func damaged(r *rand.Rand, b []byte) []byte {
	for range 1 + r.IntN(3) {
		at := r.IntN(len(b) - 1)
		n := 1 + r.IntN(min(80, len(b)-at-1))
		switch r.IntN(6) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b = slices.Delete(b, at, at+n)
		case 2:
			b = slices.Insert(b, at, slices.Clone(b[at:at+n])...)
		case 3:
			b[at] = "0123456789 -+.eE,\n\x00\xffNaN"[r.IntN(22)]
		case 4:
			b = b[:max(2, at)]
		default:
			copy(b[at:at+n], strings.Repeat("9", n))
		}
	}
	return b
}
