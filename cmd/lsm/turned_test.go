package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/surveytest"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/segy"
)

// turnedCase is a small 3-D survey over a diffractor in a constant velocity, on lines of a frame.
type turnedCase struct {
	frame *grid.Frame
	point [3]float64 // of the diffractor, in the frame
}

const (
	turnedSpeed = 2000.0 // m/s
	turnedCells = 15     // points along x and y, 20 and 25 m apart; down 20 m
)

// centi is a place as header numbers with the scalar -100.
func centi(v float64) int64 { return int64(math.Round(100 * v)) }

// write writes model and survey as SEG-Y, with map coordinates to a centimetre. exchanged changes the
// survey's x and y on the way.
func (c *turnedCase) write(t *testing.T, model, shots string, exchanged bool) {
	t.Helper()
	file := func(name string, spec segy.Spec, fill func(put func(fields map[segy.Field]int64, v []float32))) {
		var b bytes.Buffer
		w, err := segy.NewWriter(&b, spec)
		if err == nil {
			fill(func(fields map[segy.Field]int64, v []float32) {
				fields[segy.CoordinateScalar], fields[segy.TraceID], fields[segy.CoordinateUnits] = -100, 1, 1
				if err == nil {
					err = w.Write(fields, v)
				}
			})
		}
		if err == nil {
			err = os.WriteFile(name, b.Bytes(), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	speeds := make([]float32, 16)
	for i := range speeds {
		speeds[i] = turnedSpeed
	}
	file(model, segy.Spec{Major: 1, Samples: len(speeds), Interval: 20000, Text: []string{"VELOCITY IN DEPTH"}}, func(put func(map[segy.Field]int64, []float32)) {
		for j := range turnedCells {
			for i := range turnedCells {
				e, n := c.frame.ToMap(20*float64(i), 25*float64(j))
				put(map[segy.Field]int64{segy.Inline: int64(200 + 3*j), segy.Crossline: int64(700 + 2*i), segy.CDPX: centi(e), segy.CDPY: centi(n)}, speeds)
			}
		}
	})
	at := func(i, j int) [2]float64 { return [2]float64{40 * float64(i), 50 * float64(j)} } // in the frame
	distance := func(p [2]float64) float64 {
		return math.Hypot(math.Hypot(p[0]-c.point[0], p[1]-c.point[1]), c.point[2])
	}
	file(shots, segy.Spec{Major: 1, Samples: 120, Interval: 4000}, func(put func(map[segy.Field]int64, []float32)) {
		for number, s := range [][2]float64{at(0, 0), at(7, 0), at(3, 4), at(0, 7), at(7, 7)} {
			for k := range 64 {
				r := at(k%8, k/8)
				trace, arrival := make([]float32, 120), (distance(s)+distance(r))/turnedSpeed
				for n := range trace {
					a := math.Pow(math.Pi*20*(0.004*float64(n)-arrival), 2)
					trace[n] = float32((1 - 2*a) * math.Exp(-a))
				}
				se, sn := c.frame.ToMap(s[0], s[1])
				re, rn := c.frame.ToMap(r[0], r[1])
				if exchanged {
					se, sn, re, rn = sn, se, rn, re
				}
				put(map[segy.Field]int64{segy.FieldRecord: int64(number + 1), segy.Channel: int64(k + 1),
					segy.SourceX: centi(se), segy.SourceY: centi(sn), segy.ReceiverX: centi(re), segy.ReceiverY: centi(rn)}, trace)
			}
		}
	})
}

// headers are some numbers of all trace headers of a file that lsm wrote, and its greatest samples.
func headers(t *testing.T, name string, fields ...segy.Field) (list [][]int64, peaks []float64) {
	t.Helper()
	f, err := segy.Open(name, segy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := f.Reader()
	for {
		trace, err := r.Next(true)
		if err != nil {
			return list, peaks
		}
		var numbers []int64
		for _, field := range fields {
			numbers = append(numbers, field.Int(trace.Header, binary.BigEndian))
		}
		peak := 0.0
		for _, v := range trace.Samples {
			peak = max(peak, math.Abs(float64(v)))
		}
		list, peaks = append(list, numbers), append(peaks, peak)
	}
}

// done runs a command that ends well, and returns what it says.
func done(t *testing.T, args ...string) string {
	t.Helper()
	var text, errs bytes.Buffer
	if code := run(args, &text, &errs); code != status.Done {
		t.Fatalf("lsm %s: status %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return text.String()
}

// TestTurnedSurvey imports a survey and a model whose lines do not run along the map's axes. They fit
// without a flag, the image is where the diffractor is, and all go out again with map coordinates and
// line numbers. The same with the survey put into the model's frame, and with a model that does not say
// its frame.
func TestTurnedSurvey(t *testing.T) {
	quietEnvironment(t)
	for _, f := range []grid.Frame{{Azimuth: 37}, {Azimuth: 292.5, Left: true}} {
		f.Origin = [2]float64{431000, 6543000}
		c := turnedCase{&f, [3]float64{200, 100, 140}}
		t.Run(c.frame.String(), func(t *testing.T) {
			t.Chdir(t.TempDir())
			c.write(t, "model.sgy", "shots.sgy", false)
			done(t, "import", "--model", "model.sgy", "-o", "m.h5", "--domain", "depth", "--units", "m/s")
			done(t, "import", "shots.sgy", "--3d", "-o", "s.h5", "--ricker", "20")
			config := "[survey]\nfile = \"s.h5\"\n[velocity]\nfile = \"m.h5\"\n[kirchhoff]\nengine = \"cpu\"\nwavelet_filter = \"off\"\n[output]\nfile = \"i.h5\"\n"
			if err := os.WriteFile("c.toml", []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			if text := done(t, "check", "c.toml"); !strings.Contains(text, "positions are turned into that of m.h5, "+c.frame.String()) {
				t.Errorf("check: %s", text)
			}
			done(t, "migrate", "c.toml", "-o", "i.h5")
			c.imaged(t, "i.h5")
			c.comesBack(t)
			// The survey in the model's frame, which its file then holds.
			done(t, "import", "shots.sgy", "--3d", "-o", "own.h5", "--ricker", "20", "--frame", "m.h5")
			if s, err := surveytest.Read("own.h5"); err != nil || !s.Frame.Equal(c.frame) || math.Abs(s.Receiver(1)[0]-40) > 0.01 || math.Abs(s.Receiver(8)[1]-50) > 0.01 {
				t.Errorf("own.h5: %v, %v", s.Frame, err)
			}
			done(t, "migrate", "c.toml", "-o", "j.h5", "--set", "survey.file=own.h5")
			done(t, "compare", "i.h5", "j.h5", "--tolerance", "1e-3")
			// What is made of these files stays in the frame.
			done(t, "process", "own.h5", "bandpass=5,10,30,40", "-o", "p.h5")
			done(t, "velocity", "m.h5", "--to", "rms", "-o", "rms.h5")
			for _, name := range []string{"p.h5", "rms.h5"} {
				if f, err := h5.ReadFrame(name); err != nil || !f.Equal(c.frame) {
					t.Errorf("%s: %v, %v", name, f, err)
				}
			}
			// And with a model in these coordinates that does not say so.
			done(t, "export", "m.h5", "-o", "m.rsf")
			done(t, "import", "--model", "m.rsf", "-o", "bare.h5")
			done(t, "migrate", "c.toml", "-o", "k.h5", "--set", "survey.file=own.h5", "--set", "velocity.file=bare.h5")
			done(t, "compare", "j.h5", "k.h5", "--tolerance", "1e-6")
			if f, err := h5.ReadFrame("k.h5"); err != nil || !f.Equal(c.frame) {
				t.Errorf("k.h5: %v, %v", f, err)
			}
		})
	}
}

// imaged wants the diffractor where it is.
func (c *turnedCase) imaged(t *testing.T, name string) {
	t.Helper()
	im, err := h5.ReadImage(name)
	if err != nil {
		t.Fatal(err)
	}
	if !im.Grid.Frame.Equal(c.frame) {
		t.Errorf("the image lies in %s", im.Grid.Frame)
	}
	best := 0
	for i, v := range im.Data {
		if v > im.Data[best] {
			best = i
		}
	}
	p := make([]float64, 3)
	im.Grid.Point(p, best)
	for a, v := range p {
		if math.Abs(v-c.point[a]) > 1e-6 {
			t.Fatalf("the image peaks at %v, the diffractor is at %v", p, c.point)
		}
	}
}

// comesBack exports model, image and survey, and wants the coordinates and numbers of the first files.
func (c *turnedCase) comesBack(t *testing.T) {
	t.Helper()
	fields := []segy.Field{segy.CDPX, segy.CDPY, segy.CoordinateScalar, segy.Inline, segy.Crossline}
	want, _ := headers(t, "model.sgy", fields...)
	for name, from := range map[string]string{"m2.sgy": "m.h5", "i.sgy": "i.h5"} {
		done(t, "export", from, "-o", name)
		got, peaks := headers(t, name, fields...)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got[:2], want[:2])
		}
		best := 0
		for i, v := range peaks {
			if v > peaks[best] {
				best = i
			}
		}
		e, n := c.frame.ToMap(c.point[0], c.point[1])
		if at := got[best]; from == "i.h5" && (at[0] != centi(e) || at[1] != centi(n) || at[3] != 212 || at[4] != 720) {
			t.Errorf("the image peaks at %v, want (%.2f, %.2f)", at, e, n)
		}
	}
	fields = []segy.Field{segy.SourceX, segy.SourceY, segy.ReceiverX, segy.ReceiverY, segy.CoordinateScalar}
	want, _ = headers(t, "shots.sgy", fields...)
	done(t, "import", "shots.sgy", "--3d", "-o", "turned.h5", "--ricker", "20", "--frame", "m.h5")
	for _, from := range []string{"s.h5", "turned.h5"} {
		done(t, "export", from, "-o", from+".sgy")
		got, _ := headers(t, from+".sgy", fields...)
		for i := range want {
			for k := range 4 {
				if d := got[i][k] - want[i][k]; d < -1 || d > 1 || got[i][4] != -100 {
					t.Fatalf("%s: trace %d is at %v, was at %v", from, i, got[i], want[i])
				}
			}
		}
	}
}

// TestFramesThatDoNotFit refuses what lies in two frames, with both and the flag that decides, and says in
// which other reading of the headers all would fit.
func TestFramesThatDoNotFit(t *testing.T) {
	quietEnvironment(t)
	t.Chdir(t.TempDir())
	c := turnedCase{&grid.Frame{Origin: [2]float64{431000, 6543000}, Azimuth: 37}, [3]float64{200, 100, 140}}
	c.write(t, "model.sgy", "shots.sgy", false)
	c.write(t, "model.sgy", "exchanged.sgy", true)
	model := []string{"import", "--model", "model.sgy", "--domain", "depth", "--units", "m/s"}
	done(t, append(model, "-o", "m.h5")...)
	done(t, append(model, "-o", "other.h5", "--frame", "430000,6543000,127,left")...)
	done(t, "export", "m.h5", "-o", "m.rsf")
	done(t, "import", "--model", "m.rsf", "-o", "bare.h5")
	for name, args := range map[string][]string{
		"s.h5": {"shots.sgy"}, "x.h5": {"exchanged.sgy"}, "wrong.h5": {"shots.sgy", "--frame", "400000,6500000,37"}, "ten.h5": {"shots.sgy", "--header", "coordinate_scalar=none"},
	} {
		done(t, append(append([]string{"import"}, args...), "--3d", "-o", name, "--ricker", "20")...)
	}
	config := "[survey]\nfile = \"s.h5\"\n[velocity]\nfile = \"m.h5\"\n[output]\nfile = \"i.h5\"\n"
	if err := os.WriteFile("c.toml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	done(t, "check", "c.toml", "--set", "survey.file=wrong.h5") // it says where it is on the map
	done(t, "check", "c.toml", "--set", "velocity.file=other.h5")
	const flag = "lsm import --frame EAST,NORTH,AZIMUTH[,left]"
	for _, b := range []struct {
		says []string
		args []string
	}{
		{[]string{"x at azimuth 37° from (431000, 6543000)", "x at azimuth 127° from (430000, 6543000) m on the map, y to its right", flag},
			[]string{"check", "c.toml", "--set", "velocity.receiver_file=other.h5"}},
		{[]string{"which frame it lies in is not known", "x at azimuth 37° from (400000, 6500000)", flag},
			[]string{"check", "c.toml", "--set", "survey.file=wrong.h5", "--set", "velocity.file=bare.h5"}},
		{[]string{"lies outside the velocity model", "all inside it with x and y of the survey exchanged", flag}, []string{"check", "c.toml", "--set", "survey.file=x.h5"}},
		{[]string{"all inside it with x and y of the survey times 0.01 (the scalar of header byte 71)"}, []string{"check", "c.toml", "--set", "survey.file=ten.h5"}},
		{[]string{"its lines do not run along the axes of the frame x at azimuth 40°", "their own is x at azimuth 37°"}, append(model, "--frame", "431000,6543000,40")},
		{[]string{"bare.h5: has no frame"}, append(model, "--frame", "bare.h5")},
		{[]string{`"up"`}, append(model, "--frame", "1,2,3,up")},
		{[]string{"--frame needs --3d"}, []string{"import", "shots.sgy", "--frame", "1,2,3"}},
	} {
		var text, errs bytes.Buffer
		code := run(b.args, &text, &errs)
		for _, says := range b.says {
			if code == status.Done || !strings.Contains(errs.String(), says) {
				t.Errorf("lsm %s: status %d, want %q: %s", strings.Join(b.args, " "), code, says, errs.String())
			}
		}
	}
}
