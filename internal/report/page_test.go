package report

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/config"
	_ "github.com/kirchhoff-lsm/lsm/internal/formulation" // offers its regularizers to the configuration
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/io/picture"
)

// parsed is a page taken apart: its text, its tags, and the values of the
// attributes of each name.
type parsed struct {
	text  string
	tags  map[string]int
	attrs map[string][]string
}

// parse reads a page as XML, strictly: every tag closed, every attribute quoted,
// no character that a page may not hold.
func parse(t testing.TB, page []byte) parsed {
	t.Helper()
	p := parsed{tags: map[string]int{}, attrs: map[string][]string{}}
	d := xml.NewDecoder(bytes.NewReader(page))
	var text strings.Builder
	inStyle := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			p.tags[token.Name.Local]++
			if token.Name.Local == "style" {
				inStyle++
			}
			for _, a := range token.Attr {
				p.attrs[a.Name.Local] = append(p.attrs[a.Name.Local], a.Value)
			}
		case xml.EndElement:
			if token.Name.Local == "style" {
				inStyle--
			}
		case xml.CharData:
			if inStyle == 0 {
				text.Write(token)
				text.WriteByte(' ')
			}
		}
	}
	p.text = strings.Join(strings.Fields(text.String()), " ")
	return p
}

// write makes the page of a run and makes sure that it needs no other file.
func write(t testing.TB, r *Run) (parsed, []byte) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	p := parse(t, b.Bytes())
	selfContained(t, p)
	return p, b.Bytes()
}

// withoutPictures is the page of a run without its pictures, which take time.
func withoutPictures(t testing.TB, r *Run) parsed {
	t.Helper()
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, &page{Run: r}); err != nil {
		t.Fatal(err)
	}
	return parse(t, []byte(clean(b.String())))
}

func selfContained(t testing.TB, p parsed) {
	t.Helper()
	for _, tag := range []string{"script", "link", "iframe", "object", "embed", "base", "a", "form", "image", "use"} {
		if p.tags[tag] > 0 {
			t.Errorf("the page has <%s>", tag)
		}
	}
	for name, values := range p.attrs {
		switch {
		case name == "src":
			for _, v := range values {
				if !strings.HasPrefix(v, "data:image/png;base64,") {
					t.Errorf("a picture comes from %.40q", v)
				}
			}
		case name == "href" || name == "srcset" || name == "style" || strings.HasPrefix(name, "on"):
			t.Errorf("the page has an attribute %s: %q", name, values)
		}
	}
	if s := strings.ToLower(styleText); strings.Contains(s, "url(") || strings.Contains(s, "@import") {
		t.Error("the style sheet names other files")
	}
	if !slices.ContainsFunc(p.attrs["content"], func(v string) bool { return strings.HasPrefix(v, "default-src 'none';") }) {
		t.Error("the page does not forbid the browser to fetch")
	}
}

// layers is an image of the shape with flat reflectors every few points.
func layers(scale float64, every int, shape ...int) *h5.Image {
	g := grid.Grid{Shape: shape}
	for range shape {
		g.Origin, g.Spacing = append(g.Origin, 0), append(g.Spacing, 10)
	}
	im := &h5.Image{Grid: g, Data: make([]float32, g.Len())}
	nz := shape[len(shape)-1]
	for i := range im.Data {
		im.Data[i] = float32(scale * math.Sin(2*math.Pi*float64(i%nz)/float64(every)))
	}
	return im
}

// whole is a run of which everything is known.
func whole(t testing.TB, shape ...int) *Run {
	t.Helper()
	im := layers(0.05, 6, shape...)
	im.ResidualNorm = []float64{8000, 4123.25, 2000, 800}
	im.GradientNorm = []float64{3e6, 1e6, 1e5, 3e4}
	cfg, err := config.Parse("config.toml", []byte("[survey]\nfile = \"line.h5\"\n[velocity]\nfile = \"model.h5\"\n[data]\nweights = \"none\"\n[kirchhoff]\ndynamic = false\n[solver]\niterations = 3\n"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	im.Config = cfg.TOML()
	im.Attrs = []h5.Attr{
		{Name: "program", Value: "lsm"}, {Name: "command", Value: "run"}, {Name: "version", Value: "1.2.3"},
		{Name: "commit", Value: "abc123def"}, {Name: "host", Value: "node7"}, {Name: "started", Value: "2026-01-02T03:04:05Z"},
		{Name: "ranks", Value: int64(4)}, {Name: "threads", Value: int64(8)}, {Name: "engine", Value: "cpu"},
		{Name: "reason", Value: "stopped_iterations"},
		{Name: "input_survey", Value: "line.h5"}, {Name: "input_survey_sha256", Value: "5ca1ab1e"},
		{Name: "operator", Value: "J. Doe"},
	}
	data := layers(20, 11, 12, 100)
	residual := layers(2, 11, 12, 100)
	log, err := ReadLog(strings.NewReader(runLog))
	if err != nil {
		t.Fatal(err)
	}
	return &Run{
		File: "line/image.h5", Image: im, Config: cfg,
		Velocity: &Model{File: "line/model.h5", Grid: im.Grid, Values: speeds(im.Grid.Len())},
		Arrivals: &Arrivals{Weak: make([]float64, im.Grid.Len()), Says: "8 of 23 places: first arrivals are weak at 7 % of the image points", Warning: true},
		Adjoint:  layers(7e5, 12, shape...), AdjointFrom: "line/adjoint.h5",
		Gathers: []Gather{{Name: "Shot 3, x 500 m, z 0 m", NT: 100, DT: 0.004, Data: data.Data, Residual: residual.Data}},
		DotTest: &DotTest{Error: 2.5e-8, Limit: 1e-6},
		Log:     log, Times: log.Times,
	}
}

// speeds rise from 1500 to 4300 m/s.
func speeds(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1500 + 2800*float64(i)/float64(n-1)
	}
	return v
}

const runLog = `srun: job 7 queued
{"event":"warning","message":"3 of 48 traces are dead"}
{"event":"iteration","stage":"solver","iteration":1,"iterations":3,"residual":0.5,"gradient":0.3,"adjoint":3e-9,"seconds":1.5}
{"event":"iteration","stage":"solver","iteration":2,"iterations":3,"residual":0.25,"gradient":null,"adjoint":8e-9,"seconds":2.5}
{"event":"iteration","stage":"solver","iteration":3,"iterations":3,"residual":0.1,"gradient":0.01,"adjoint":null,"seconds":65}
{"event":"timing","section":"solver","path":["solver"],"min":1,"avg":1.5,"max":2,"slowest":1,"calls":1,"percent":15,"percent_with_inner":90,"ranks":4}
{"event":"timing","section":"forward","path":["solver","forward"],"min":4,"avg":7.5,"max":9.25,"slowest":1,"calls":4,"percent":75,"ranks":4}
{"event":"timing","section":"total","path":["total"],"min":10,"avg":10,"max":10,"slowest":0,"calls":0,"percent":100,"ranks":4}
{"event":"memory","max":209715200,"rank":2,"predicted":104857600,"bytes":[1,2,209715200,4],"predicted_bytes":[1,2,104857600,4]}
{"event":"done","command":"run","status":0,"seconds":10,"residual":800,"output":"image.h5"}
`

// A page of a whole run has the numbers of the file, and every picture decodes.
func TestWholePage(t *testing.T) {
	r := whole(t, 40, 60)
	p, page := write(t, r)
	for _, want := range []string{
		"Least-squares migration", "line/image.h5, started 2 January 2026, 03:04:05 UTC on node7",
		"iterations 3", "residual left 10 %", "40×60 points", "4 × 8", "memory 200 MiB", "velocity 1500 to 4300 m/s",
		"Velocity line/model.h5 The model that the run read: 1500 to 4300 m/s, on 40×60 points",
		"First arrivals Share of the places whose first arrival is weak Warning: 8 of 23 places: first arrivals are weak at 7 % of the image points.",
		"Stopped at its limit after 3 iterations", "solver.iterations (3)",
		"fell from 8000 to 800, to 10 % of its start, which leaves 1 % of the energy",
		"last iteration still lowered it by 60 %", "gradient ended at 1 % of its start",
		"at most 8.0e-09", "passed, 2.5e-08 (limit 1e-06)",
		"4123 5.154e-01 3.333e-01 3.0e-09 1.50 s", "800 1.000e-01 1.000e-02 65 s",
		"Plain Kirchhoff migration: line/adjoint.h5", "Least squares after 3 iterations: line/image.h5",
		"The residual holds 1 % of the shot's energy.", "Shot 3, x 500 m",
		"forward 4 7.5 9.25 4 75.0", "Seconds over 4 ranks, from the log",
		"200 MiB at most (rank 2), 100 MiB predicted.", "The run warned: 3 of 48 traces are dead",
		"iterations 3 (default 8)", "commit abc123def", "engine cpu", "reason stopped_iterations",
		"survey line.h5 SHA-256 5ca1ab1e", "operator J. Doe", "made by lsm 1.2.3",
	} {
		if !strings.Contains(p.text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", p.text)
	}
	if slices.Contains(p.attrs["class"], "missing") {
		t.Error("something is missing on the page of a whole run")
	}
	if n := len(p.attrs["src"]); n != 10 {
		t.Errorf("%d pictures, want adjoint, image, velocity, weak arrivals, convergence, spectra in depth and time, data, prediction and residual", n)
	}
	for _, src := range p.attrs["src"] {
		b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(src, "data:image/png;base64,"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := png.DecodeConfig(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if w, h := fmt.Sprint(c.Width), fmt.Sprint(c.Height); !slices.Contains(p.attrs["width"], w) || !slices.Contains(p.attrs["height"], h) {
			t.Errorf("a picture of %s×%s pixels is announced with another size", w, h)
		}
	}
	if _, again := write(t, r); !bytes.Equal(page, again) {
		t.Error("the same run gives another page")
	}
}

// What is missing is named with what would bring it.
func TestMissingParts(t *testing.T) {
	for _, c := range []struct {
		name string
		take func(r *Run)
		want []string
	}{
		{"adjoint", func(r *Run) { r.Adjoint = nil }, []string{"No adjoint image", "output.adjoint", "--adjoint FILE", "--compute"}},
		{"velocity", func(r *Run) { r.Velocity = nil }, []string{"No velocity model: the one that the run read is not where", "--folder DIR"}},
		{"arrivals", func(r *Run) { r.Arrivals = nil }, []string{"such as head waves, are weaker than later ones: --compute"}},
		{"history", func(r *Run) { r.Image.ResidualNorm, r.Image.GradientNorm = nil, nil }, []string{"no solver ran", "No history: lsm run writes one"}},
		{"gradient", func(r *Run) { r.Image.GradientNorm = nil }, nil},
		{"iterations", func(r *Run) { r.Image.ResidualNorm, r.Image.GradientNorm = []float64{5}, []float64{2} }, nil},
		{"tests", func(r *Run) { r.DotTest, r.Log = nil, nil }, []string{"No adjoint test: --log FILE", "Memory is not known"}},
		{"times", func(r *Run) { r.Times = nil }, []string{"No times: --log FILE"}},
		{"gathers", func(r *Run) {}, []string{"No recorded traces", "--folder DIR", "No residual traces: output.residual", "--residual FILE"}},
		{"data", func(r *Run) { r.Gathers[0].Data = nil }, []string{"No recorded traces"}},
		{"residual", func(r *Run) { r.Gathers[0].Residual = nil }, []string{"No residual traces"}},
		{"configuration", func(r *Run) { r.Config, r.Image.Config = nil, "" }, []string{"No configuration: lsm run writes it"}},
		{"its meaning", func(r *Run) { r.Config, r.Image.Config = nil, "[solver]\nfrom = \"tomorrow\"" }, []string{"does not know all", `from = "tomorrow"`}},
		{"origin", func(r *Run) { r.Image.Attrs = nil }, []string{"does not say who made it", "does not say why the run ended"}},
		{"amplitudes", func(r *Run) { clear(r.Image.Data); clear(r.Adjoint.Data) }, []string{"The image is zero everywhere"}},
		{"everything", func(r *Run) {
			*r = Run{File: "x.h5", Image: &h5.Image{Grid: r.Image.Grid, Data: make([]float32, r.Image.Grid.Len())}}
		},
			[]string{"No spectra", "No history", "Migration"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := whole(t, 8, 12)
			if c.name != "data" && c.name != "residual" {
				r.Gathers = nil // pictures take time
			}
			c.take(r)
			p, _ := write(t, r)
			for _, want := range c.want {
				if !strings.Contains(p.text, want) {
					t.Errorf("the page does not say %q: %s", want, p.text)
				}
			}
			if strings.Contains(p.text, "NaN") || strings.Contains(p.text, "Inf") {
				t.Errorf("the page has a number that is none: %s", p.text)
			}
		})
	}
}

// Texts from files stay texts, whatever they say.
func TestHostileTexts(t *testing.T) {
	const bad = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>]]>&amp;{{.}}\x00\x1b[31m\xff\u202e\uFFFF javascript:x"
	const shown = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>]]>&amp;{{.}}\uFFFD\uFFFD[31m\uFFFD\uFFFD\uFFFD javascript:x"
	r := whole(t, 8, 12)
	tags, _ := write(t, r)
	r.File, r.AdjointFrom = bad, bad
	r.Notes = []string{bad}
	r.Image.Config, r.Config = bad, nil
	for i, a := range r.Image.Attrs {
		if _, text := a.Value.(string); text {
			r.Image.Attrs[i].Value = bad
		}
	}
	r.Image.Attrs = append(r.Image.Attrs, h5.Attr{Name: bad, Value: []string{bad}},
		h5.Attr{Name: "input_" + bad, Value: bad}, h5.Attr{Name: "input_" + bad + "_sha256", Value: bad})
	r.Gathers[0].Name = bad
	r.Log.Warnings = []string{bad}
	for i := range r.Times.Rows {
		r.Times.Rows[i].Path = []string{bad}
	}
	p, _ := write(t, r)
	if p.tags["img"] != tags.tags["img"] {
		t.Errorf("%d pictures, want %d", p.tags["img"], tags.tags["img"])
	}
	// Two of file and adjoint, a note, the reason, the raw configuration, the
	// title and its subtitle, six attributes, three of an input, and so on.
	if n := strings.Count(p.text, shown); n < 15 {
		t.Errorf("the text is shown %d times", n)
	}
	if strings.ContainsAny(p.text, "\x00\x1b\u202e") {
		t.Error("a control character is left")
	}
}

func TestCube(t *testing.T) {
	r := whole(t, 9, 7, 20)
	r.Gathers = nil
	r.At = []float64{20, 30, 50}
	p, _ := write(t, r)
	for _, want := range []string{"9×7×20 points", "--at x,y,z moves them"} {
		if !strings.Contains(p.text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	r.At = []float64{20, 30, 1e6}
	if err := Write(io.Discard, r); status.Code(err) != status.BadUsage || !strings.Contains(err.Error(), "outside the grid") {
		t.Errorf("slices outside the image: %v", err)
	}
	r = whole(t, 9, 7)
	r.Adjoint = layers(1, 5, 7, 9)
	if err := Write(io.Discard, r); err == nil || !strings.Contains(err.Error(), "adjoint image lies on") {
		t.Errorf("adjoint on another grid: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteFails(t *testing.T) {
	if err := Write(full{}, whole(t, 4, 4)); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error is %v", err)
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		reason   string
		residual []float64
		mood     string
		want     string
	}{
		{"converged_residual", []float64{1, 0.5, 0.1}, "good", "Converged after 2 iterations"},
		{"converged_gradient", []float64{1, 0.1}, "good", "Converged after 1 iteration"},
		{"converged_gradient", []float64{0}, "good", "hold nothing to explain"},
		{"stopped_iterations", []float64{1, 0.5, 0.4999}, "fair", "more iterations would gain little"},
		{"stopped_signal", []float64{1, 0.5}, "fair", "asked to stop"},
		{"stopped_time", []float64{1, 0.5}, "fair", "time was up"},
		{"stopped_iterations", []float64{1, 0.2, 0.5}, "fair", "lower before the end: 0.2 after iteration 1"},
		{"stopped_iterations", []float64{1, 2}, "fair", "did not fall: 1 at the start, 2 at the end"},
		{"stopped_iterations", []float64{1, math.NaN()}, "bad", "no norms"},
		{"matched", []float64{1, 0.5}, "good", "matching filters"},
		{"failed_nan", []float64{1, 0.5}, "bad", "Do not trust the image"},
		{"tired", []float64{1, 0.5}, "fair", "Reason given: tired"},
	} {
		r := whole(t, 4, 4)
		r.Image.ResidualNorm, r.Image.GradientNorm = c.residual, make([]float64, len(c.residual))
		for i := range r.Image.Attrs {
			if r.Image.Attrs[i].Name == "reason" {
				r.Image.Attrs[i].Value = c.reason
			}
		}
		v := r.Verdict()
		if all := v.Headline + " " + strings.Join(v.Points, " "); v.Mood != c.mood || !strings.Contains(all, c.want) {
			t.Errorf("%s of %v: %s: %s, want %s: …%s…", c.reason, c.residual, v.Mood, all, c.mood, c.want)
		}
	}
	r := whole(t, 4, 4)
	r.DotTest.Error = 1e-3
	if v, p := r.Verdict(), withoutPictures(t, r); v.Mood != "bad" || !strings.Contains(p.text, "FAILED, 1.0e-03 (limit 1e-06). Do not trust the image.") {
		t.Errorf("a failed dot test: %+v, %s", v, p.text)
	}
}

// Where much stays unexplained and iterations do not help, the page names suspects and
// compares with the adjoint; where the fit is good, or still falls fast, it does not.
func TestSuspects(t *testing.T) {
	const head = "with 73 % of the data's energy unexplained"
	high := []float64{1, 0.87, math.Sqrt(0.7301), math.Sqrt(0.73)}
	for _, c := range []struct {
		name, reason string
		residual     []float64
		set          []string
		mood         string
		want, not    []string
	}{
		{"high and flat", "stopped_iterations", high, nil, "fair",
			[]string{head, "scaled to fit, leaves 75.7 % unexplained, and the 2 iterations after it brought that to 73 %. The least-squares image explains little more",
				"Suspect the wavelet", "Suspect the amplitudes", "kirchhoff.dynamic = false", "data.weights = \"coherence\"", "Suspect the velocity", "It is 1500 to 4300 m/s",
				"image.gathers = \"offset\" shows it", "Suspect what is no reflection", "No mute is set"}, nil},
		{"converged", "converged_gradient", high, nil, "fair", []string{head}, nil},
		{"other settings", "stopped_iterations", high,
			[]string{"kirchhoff.dynamic=true", "data.weights=survey", "data.mute_offsets=[0]", "data.mute_times=[0.1]"}, "fair",
			[]string{"gain and trace balancing must be undone", "whether the mute takes them all"}, []string{"data.weights", "No mute is set"}},
		{"gathers", "stopped_iterations", high, []string{"image.gathers=offset", "image.gather_bins=[0,1]"}, "fair", []string{head}, []string{"Compare it with the adjoint", "shows it"}},
		{"much gained", "stopped_iterations", []float64{1, 0.99, math.Sqrt(0.3002), math.Sqrt(0.3)}, nil, "fair", []string{"with 30 %", "leaves 98 % unexplained"}, []string{"little more"}},
		{"matched", "matched", []float64{1, 0.9}, nil, "fair", []string{"with 81 %", "Suspect the wavelet"}, []string{"Compare"}},
		{"still falling", "stopped_iterations", []float64{1, 0.9, 0.7}, nil, "fair", []string{"would fit the data closer"}, []string{"Suspect", "unexplained, and"}},
		{"well fitted", "stopped_iterations", []float64{1, 0.3, 0.2999}, nil, "fair", []string{"gain little"}, []string{"Suspect"}},
		{"no better at all", "stopped_iterations", []float64{1, 1}, nil, "fair", []string{"did not fall", "Suspect"}, []string{"with 100 %"}},
	} {
		r := whole(t, 4, 4)
		r.Image.ResidualNorm, r.Image.GradientNorm = c.residual, nil
		for i := range r.Image.Attrs {
			if r.Image.Attrs[i].Name == "reason" {
				r.Image.Attrs[i].Value = c.reason
			}
		}
		var err error
		if r.Config, err = config.Parse("config.toml", []byte(r.Image.Config), c.set, nil); err != nil {
			t.Fatal(err)
		}
		if v := r.Verdict(); v.Mood != c.mood {
			t.Errorf("%s: mood %s, want %s", c.name, v.Mood, c.mood)
		}
		all := withoutPictures(t, r).text
		for _, want := range c.want {
			if !strings.Contains(all, want) {
				t.Errorf("%s: does not say %q: %s", c.name, want, all)
			}
		}
		for _, not := range c.not {
			if strings.Contains(all, not) {
				t.Errorf("%s: says %q: %s", c.name, not, all)
			}
		}
	}
}

// Without a model the page says what the velocity was.
func TestVelocityOnThePage(t *testing.T) {
	for want, set := range map[string][]string{
		"The velocity is constant: 2000 m/s everywhere.":    {"velocity.file=", "velocity.constant=2000", "image.origin=0,0", "image.spacing=1,1", "image.shape=4,4"},
		"did not come from it, but from the tables of t.h5": {"traveltime.method=table", "traveltime.file=t.h5"},
		"velocity model: the one that the run read is not":  nil,
	} {
		r := whole(t, 4, 4)
		r.Gathers, r.Velocity = nil, nil
		var err error
		if r.Config, err = config.Parse("config.toml", []byte(r.Image.Config), set, nil); err != nil {
			t.Error(err)
			continue
		}
		if p, _ := write(t, r); !strings.Contains(p.text, want) {
			t.Errorf("the page does not say %q: %s", want, p.text)
		}
	}
}

// Image gathers have a section where there are some.
func TestImageGathersOnThePage(t *testing.T) {
	r := whole(t, 8, 12)
	r.Gathers = nil
	if p, _ := write(t, r); strings.Contains(p.text, "Image gathers") {
		t.Error("a section of image gathers without any")
	}
	r.Classes = picture.Classes{Name: "opening angle", Unit: "degrees", Centers: []float64{10, 30}}
	r.ImageGathers = []picture.ImageGather{{Name: "x = 40 m", Values: make([]float32, 2*r.Image.Grid.Shape[1])}}
	r.AdjointGathers, r.ClassLimits = r.ImageGathers, []float64{0, 20, 40}
	r.Image.ResidualNorm = []float64{1, 0.9, 0.9}
	p, _ := write(t, r)
	for _, want := range []string{"The classes end at 0 and 40 degrees", "No class holds opening angles below 0 and above 40 degrees"} {
		if !strings.Contains(p.text, want) {
			t.Errorf("the page does not say %q: %s", want, p.text)
		}
	}
	if !strings.Contains(p.text, "those that rise with opening angle") || len(p.attrs["src"]) != 8 {
		t.Errorf("%d pictures, want image and gathers of both images, the velocity, weak arrivals, convergence and spectra: %s", len(p.attrs["src"]), p.text)
	}
}
