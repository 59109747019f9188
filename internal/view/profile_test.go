package view

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// makeTarget writes an image as lsm target does: a wave along z whose deviation grows with x, and
// whose resolution falls with z.
func makeTarget(t *testing.T, path string, g grid.Grid) string {
	t.Helper()
	var image, deviation, resolution []float32
	nz := g.Shape[len(g.Shape)-1]
	for i := range g.Len() {
		x, z := float64(i/nz), float64(i%nz)
		image = append(image, float32(math.Sin(z/3)*(1+x/50)))
		deviation = append(deviation, float32(0.1+x/100))
		resolution = append(resolution, float32(1-z/100))
	}
	w, err := h5.CreateImage(path, &h5.Image{Grid: g}, h5.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{w.WriteImage(image, 0), w.WriteField(h5.Field{Name: "standard_deviation", Data: deviation}),
		w.WriteField(h5.Field{Name: "resolution", Data: resolution}), w.Commit()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func block() grid.Grid {
	return grid.Grid{Origin: []float64{100, 0, 50}, Spacing: []float64{10, 20, 5}, Shape: []int{7, 9, 40}}
}

// A profile has the numbers of the file, and the deviations and resolution of the image alone.
func TestProfileOfAFile(t *testing.T) {
	for _, g := range []grid.Grid{plane(60, 50), block()} {
		path := makeTarget(t, filepath.Join(t.TempDir(), "target.h5"), g)
		im, err := h5.ReadImage(path)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := h5.ReadFields(path)
		if err != nil || fields[0].Name != "resolution" || fields[1].Name != "standard_deviation" {
			t.Fatal(fields, err)
		}
		f, err := openFile(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.close()
		at := []int{3, 4, 5}[:g.Dim()]
		for along := range at {
			p, err := f.Arrays[0].Profile(along, at)
			if err != nil || len(p.Values) != g.Shape[along] || len(p.Deviation) != g.Shape[along] || len(p.Resolution) != g.Shape[along] {
				t.Fatalf("along axis %d: %d, %d and %d numbers (%v), want %d each", along, len(p.Values), len(p.Deviation), len(p.Resolution), err, g.Shape[along])
			}
			for k := range g.Shape[along] {
				i := 0
				for a, n := range g.Shape {
					i *= n
					if a == along {
						i += k
					} else {
						i += at[a]
					}
				}
				got, want := [3]value{p.Values[k], p.Deviation[k], p.Resolution[k]}, [3]value{value(im.Data[i]), value(fields[1].Data[i]), value(fields[0].Data[i])}
				if got != want {
					t.Fatalf("along axis %d: sample %d is %v, want %v", along, k, got, want)
				}
			}
		}
		if p, err := f.Arrays[1].Profile(0, at); err != nil || p.Deviation != nil || p.Resolution != nil {
			t.Errorf("the resolution has deviations of its own: %v, %v", p, err)
		}
	}
}

// Curves of one quantity share a scale: an image and its deviation do.
func TestQuantity(t *testing.T) {
	for name, want := range map[string]string{"/standard_deviation": "amplitude", "/resolution": "title", "/data": "amplitude of a trace", "/image": "amplitude"} {
		if got := quantity(name, "title"); got != want {
			t.Errorf("the numbers of %s are %s, want %s", name, got, want)
		}
	}
}

// The page gets the same numbers, null for what is none, and a reason where there is no profile.
func TestProfileAnswer(t *testing.T) {
	s := serve(t, makeTarget(t, filepath.Join(t.TempDir(), "target.h5"), plane(60, 50)), makeImage(t, filepath.Join(t.TempDir(), "image.h5")))
	base, _, _ := strings.Cut(s.URL(), "?")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	get := func(url string) (int, string) {
		t.Helper()
		answer, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	if code, _ := get(base + "api/profile?file=0&array=0&along=1&at=20,0"); code != http.StatusForbidden {
		t.Errorf("a stranger gets status %d, want %d", code, http.StatusForbidden)
	}
	get(s.URL())
	var line struct{ Values, Deviation, Resolution []float32 }
	code, body := get(base + "api/profile?file=0&array=0&along=1&at=20,0")
	if err := json.Unmarshal([]byte(body), &line); code != http.StatusOK || err != nil || len(line.Values) != 50 {
		t.Fatalf("status %d, %v, %s", code, err, body)
	}
	for z := range line.Values {
		got, want := [3]float32{line.Values[z], line.Deviation[z], line.Resolution[z]}, [3]float32{float32(math.Sin(float64(z)/3) * 1.4), 0.3, float32(1 - float64(z)/100)}
		if got != want {
			t.Errorf("sample %d is %v, want %v", z, got, want)
		}
	}
	if _, body := get(base + "api/profile?file=1&array=0&along=1&at=20,0"); strings.Contains(body, "deviation") || strings.Contains(body, "resolution") {
		t.Errorf("a plain image has a deviation: %s", body)
	}
	if text, err := json.Marshal([]value{1.5, value(math.NaN()), value(math.Inf(1))}); err != nil || string(text) != "[1.5,null,null]" {
		t.Errorf("NaN is written as %s (%v), want null", text, err)
	}
	for q, want := range map[string]string{"file=0&array=9&along=0&at=0,0": "no array 9", "file=0&array=0&along=2&at=0,0": "axis 2", "file=0&array=0&along=0&at=0": "2 numbers",
		"file=0&array=0&along=0&at=0,50": "index 50 of axis z", "file=0&array=0&at=0,0": "along"} {
		if code, body := get(base + "api/profile?" + q); code != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%s: status %d and %q, want %d and %q", q, code, body, http.StatusBadRequest, want)
		}
	}
	long := &Array{Axes: []Axis{{Name: "trace", Size: longest + 1}}}
	if err := long.profiled(0, []int{0}); err == nil || !strings.Contains(err.Error(), "131072 at most") {
		t.Errorf("a line of %d samples: %v", longest+1, err)
	}
}

// paint is a script for the colour of the profile's plot, [red, green, blue, opacity], at a place
// along it and a number.
func paint(along, number string) string {
	return `(() => { const plot = profile.$("plot"), [x, y] = profile.pixel(` + along + `, ` + number + `, profile.range());
		return [...plot.getContext("2d").getImageData(Math.round(x * plot.width / plot.clientWidth), Math.round(y * plot.height / plot.clientHeight), 1, 1).data]; })()`
}

// A click draws the image's numbers as a curve in a band of one deviation to either side.
func TestPageProfile(t *testing.T) {
	folder := t.TempDir()
	ctx := browser(t, makeTarget(t, filepath.Join(folder, "target.h5"), plane(60, 50)), makeImage(t, filepath.Join(folder, "image.h5")), makeModel(t, filepath.Join(folder, "model.h5")))
	do(ctx, t, chromedp.SetValue("#profile-along", "down", chromedp.ByQuery))
	do(ctx, t, chromedp.MouseClickXY(eval[float64](ctx, t, point("x")), eval[float64](ctx, t, point("y"))))
	settle(ctx, t)
	if got := eval[string](ctx, t, `profile.$("here").textContent`); !strings.Contains(got, "x 200 m   z 300 m   target.h5: image -0.762 ± 0.3   resolution 0.7") {
		t.Errorf("the profile says %q", got)
	}
	if got := eval[string](ctx, t, `profile.$("legend").textContent`); !strings.Contains(got, "target.h5: image ± one standard deviation") || !strings.Contains(got, "image.h5: image") || !strings.Contains(got, "resolution, 0 to 1") {
		t.Errorf("the legend says %q", got)
	}
	shoot(ctx, t, "profile-two-images")
	// The other image is large: without it the band fills the plot.
	do(ctx, t, chromedp.Click(`//li[contains(., "image.h5: image") and not(contains(., "target"))]//input`, chromedp.BySearch))
	value := func(z int) float64 { return math.Sin(float64(z)/3) * 1.4 }
	for _, z := range []int{14, 24, 33} {
		along := fmt.Sprint(10 * z)
		for _, c := range []struct {
			off  float64
			what string
			band bool
		}{{-0.25, "inside the band", true}, {0.25, "inside the band", true}, {-0.4, "outside it", false}, {0.4, "outside it", false}} {
			got := eval[[]int](ctx, t, paint(along, fmt.Sprint(value(z)+c.off)))
			if band := got[2] > 100 && got[0] == 0 && got[3] > 40 && got[3] < 90; band != c.band {
				t.Errorf("z = %s m, %g from the curve, %s: colour %v", along, c.off, c.what, got)
			}
		}
		if got := eval[[]int](ctx, t, paint(along, fmt.Sprint(value(z)))); got[3] < 150 || got[2] < 100 {
			t.Errorf("z = %s m: colour %v on the curve", along, got)
		}
	}
	shoot(ctx, t, "profile-down")

	do(ctx, t, chromedp.Click(`//li[contains(., "image.h5: image") and not(contains(., "target"))]//input`, chromedp.BySearch), chromedp.Click(".own", chromedp.ByQuery))
	if got, low := eval[string](ctx, t, `profile.$("legend").textContent`), eval[float64](ctx, t, "profile.range()[0]"); !strings.Contains(got, "image.h5: image, 20 to 167") || low < -2 {
		t.Errorf("on scales of their own: the legend says %q, the axis begins at %g", got, low)
	}
	if zero := eval[float64](ctx, t, "(([low, high]) => low / high)(profile.range()) - (([low, high]) => low / high)(profile.stretch(profile.curves[1], profile.range()))"); math.Abs(zero) > 1e-9 {
		t.Errorf("on scales of their own the zeros lie %g apart", zero)
	}
	shoot(ctx, t, "profile-own-scales")

	// Keys move the point, turn the profile and close it.
	do(ctx, t, chromedp.Focus(".plot", chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowUp))
	settle(ctx, t)
	if got := eval[string](ctx, t, `profile.$("here").textContent`); !strings.HasPrefix(got, "x 210 m   z 290 m") {
		t.Errorf("after the keys the profile says %q", got)
	}
	do(ctx, t, chromedp.KeyEvent("p"))
	settle(ctx, t)
	if n, along := eval[int](ctx, t, "profile.curves[0].values.length"), eval[string](ctx, t, "profile.along.name"); n != 60 || along != "x" {
		t.Errorf("p shows %d samples along %s, want 60 along x", n, along)
	}
	// The model beneath has a scale of its own.
	do(ctx, t, chromedp.Evaluate(`panels[0].$("beneath").value = panels[0].list.findIndex((a) => a.info.name === "/velocity"); panels[0].draw()`, nil))
	settle(ctx, t)
	if got := eval[string](ctx, t, `profile.$("legend").textContent`); !strings.Contains(got, "model.h5: velocity, 1560 to 1620 m/s") {
		t.Errorf("the legend with the model says %q", got)
	}
	shoot(ctx, t, "profile-right")
	// A section that is no longer shown has no profile.
	arrange := func(how string) {
		t.Helper()
		do(ctx, t, chromedp.SetValue("#arrangement", how, chromedp.ByQuery), chromedp.Evaluate(`byId("arrangement").dispatchEvent(new Event("change"))`, nil))
		settle(ctx, t)
	}
	arrange("beside")
	do(ctx, t, chromedp.Evaluate(`profile.click(panels[1], {lng: 100, lat: 100}, {})`, nil))
	settle(ctx, t)
	arrange("one")
	if !eval[bool](ctx, t, `profile.panel === panels[0] && profile.extent()[1] > profile.extent()[0] && profile.mark._map === panels[0].map`) {
		t.Error("the profile is still that of the section that is hidden")
	}
	do(ctx, t, chromedp.Focus(".plot", chromedp.ByQuery), chromedp.KeyEvent(kb.Escape))
	if eval[bool](ctx, t, "profile.open") {
		t.Error("Escape leaves the profile open")
	}
}

// A profile of a 3-D file goes with the section's slider.
func TestPageProfile3D(t *testing.T) {
	ctx := browser(t, makeTarget(t, filepath.Join(t.TempDir(), "target.h5"), block()))
	do(ctx, t, chromedp.KeyEvent("p"), chromedp.KeyEvent("p"))
	settle(ctx, t)
	do(ctx, t, chromedp.Evaluate(`profile.choose("down")`, nil))
	settle(ctx, t)
	shoot(ctx, t, "profile-3d")
	before := eval[float64](ctx, t, "profile.curves[0].values[10]")
	do(ctx, t, chromedp.Evaluate(`(() => { const s = panels[0].root.querySelector("[data-axis=y]"); s.value = 8; s.dispatchEvent(new Event("input")); s.dispatchEvent(new Event("change")); })()`, nil))
	settle(ctx, t)
	if after, want := eval[float64](ctx, t, "profile.curves[0].values[10]"), math.Sin(10.0/3)*(1+(3*9+8)/50.0); math.Abs(after-want) > 1e-6 || after == before {
		t.Errorf("sample 10 is %g, and %g after y has moved, want %g", before, after, want)
	}
}
