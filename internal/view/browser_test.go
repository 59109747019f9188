package view

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/internal/midpoint"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// patience is for a machine with much else to do; nothing is expected to come near it.
const patience = 10 * time.Minute

// browser opens the page of files in a headless browser. It skips the test where there is none.
func browser(t *testing.T, paths ...string) context.Context {
	t.Helper()
	ctx, _ := browserOf(t, paths...)
	return ctx
}

// browserOf is browser with the server.
func browserOf(t *testing.T, paths ...string) (context.Context, *Server) {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("no browser: neither chromium nor google-chrome is in PATH")
	}
	s := serve(t, paths...)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1280, 760), chromedp.WSURLReadTimeout(patience))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {})) // its protocol is newer than the library
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		if dialog, ok := event.(*page.EventJavascriptDialogOpening); ok {
			t.Errorf("the page opened a dialog: %s", dialog.Message)
		}
	})
	do(ctx, t, chromedp.Navigate(s.URL()))
	settle(ctx, t)
	return ctx, s
}

func do(ctx context.Context, t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// settle waits until no tile is on its way, and then for no fault.
func settle(ctx context.Context, t *testing.T) {
	t.Helper()
	do(ctx, t, chromedp.Poll("document.body.dataset.settled && pending === 0", nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(0)))
	if fault := eval[string](ctx, t, `document.getElementById("fault").textContent`); fault != "" {
		t.Fatalf("the page says: %s", fault)
	}
}

func eval[T any](ctx context.Context, t *testing.T, script string) (v T) {
	t.Helper()
	do(ctx, t, chromedp.Evaluate(script, &v))
	return v
}

// shoot keeps a picture of the page in the folder LSM_TEST_SCREENSHOTS, if it is set.
func shoot(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	var png []byte
	do(ctx, t, chromedp.CaptureScreenshot(&png))
	if folder := os.Getenv("LSM_TEST_SCREENSHOTS"); folder != "" {
		if err := os.WriteFile(filepath.Join(folder, name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// nearly is how far the value of a pixel may lie from that of the place: pixels have a width.
const nearly = 1

// at is a script for the value that a panel shows at a place of its axes.
func at(panel, right, down string) string {
	return panel + ".top.valueAt({lng: " + right + ", lat: " + down + "})"
}

func TestPage(t *testing.T) {
	folder := t.TempDir()
	image, model := makeImage(t, filepath.Join(folder, `<img src=x onerror=alert(1)>.h5`)), makeModel(t, filepath.Join(folder, "model.h5"))
	ctx := browser(t, image, model)
	shoot(ctx, t, "one")
	if got, want := eval[float64](ctx, t, at("panels[0]", "200", "300")), imageValue(20, 0, 30); math.Abs(got-want) > nearly {
		t.Errorf("the image is %g at x = 200, z = 300, want %g", got, want)
	}
	if n := eval[int](ctx, t, "document.images.length"); n != 0 {
		t.Errorf("the page holds %d images: the file's name was taken for HTML", n)
	}
	if title := eval[string](ctx, t, "document.title"); !strings.HasPrefix(title, `<img src=x onerror=alert(1)>.h5, model.h5`) {
		t.Errorf("the title is %q", title)
	}

	// Another clip needs no request and changes what is painted.
	painted := `(() => { const tile = [...panels[0].top.values.keys()][0]; return [...tile.getContext("2d").getImageData(0, 0, 256, 256).data].reduce((a, b) => a + b, 0); })()`
	before := eval[float64](ctx, t, painted)
	do(ctx, t, chromedp.SetValue(".clip", "-1", chromedp.ByQuery), chromedp.Evaluate(`panels[0].$("clip").dispatchEvent(new Event("input"))`, nil))
	if after := eval[float64](ctx, t, painted); after == before {
		t.Error("another clip changes no colour")
	}

	// A click shows the gather there.
	x, y := eval[float64](ctx, t, point("x")), eval[float64](ctx, t, point("y"))
	do(ctx, t, chromedp.MouseClickXY(x, y))
	settle(ctx, t)
	if got, want := eval[float64](ctx, t, at("gatherPanel", "1", "300")), gatherValue(1, 20, 30); math.Abs(got-want) > nearly {
		t.Errorf("class 1 of the gather at x = 200 is %g at z = 300, want %g", got, want)
	}
	shoot(ctx, t, "gather")

	// Two arrays side by side, the model beneath the image.
	do(ctx, t, chromedp.SetValue("#arrangement", "beside", chromedp.ByQuery), chromedp.Evaluate(`byId("arrangement").dispatchEvent(new Event("change"))`, nil))
	do(ctx, t, chromedp.Evaluate(`panels[1].$("array").value = 2; panels[1].choose(); panels[0].$("beneath").value = 2; panels[0].draw()`, nil))
	settle(ctx, t)
	if got, want := eval[float64](ctx, t, at("panels[1]", "200", "300")), modelValue(20, 30); math.Abs(got-want) > nearly {
		t.Errorf("the model is %g at x = 200, z = 300, want %g", got, want)
	}
	if n := eval[int](ctx, t, "panels[0].below.values.size"); n == 0 {
		t.Error("nothing lies beneath the image")
	}
	shoot(ctx, t, "beside")
	if centre := eval[float64](ctx, t, `(panels[0].map.setZoom(2), panels[0].map.getCenter().lng - panels[1].map.getCenter().lng)`); centre > 1 || centre < -1 {
		t.Errorf("the centres of the two maps are %g m apart after one was zoomed", centre)
	}
}

// point is a script for where, along an axis of the window, x = 200 m, z = 300 m of the first
// panel lies.
func point(axis string) string {
	return `panels[0].$("map").getBoundingClientRect().` + axis + ` + panels[0].map.latLngToContainerPoint([300, 200]).` + axis
}

// Picks lie on the image and on the gather. One is dragged, one taken out, one added, and what is
// saved is what was done.
func TestPagePicks(t *testing.T) {
	folder := t.TempDir()
	ctx, s := browserOf(t, makeImage(t, filepath.Join(folder, "image.h5")), makePicks(t, filepath.Join(folder, "picks.h5")))
	if n := eval[int](ctx, t, `document.querySelectorAll(".panel path.leaflet-interactive").length`); n != 3 {
		t.Errorf("%d picks lie on the image, want 3", n)
	}
	do(ctx, t, chromedp.MouseClickXY(eval[float64](ctx, t, point("x")), eval[float64](ctx, t, point("y"))))
	settle(ctx, t)
	if n := eval[int](ctx, t, `document.querySelectorAll(".handle").length`); n != 2 {
		t.Fatalf("%d curves lie on the gather at x = 200, want 2", n)
	}
	shoot(ctx, t, "picks")

	// Drag the handle of the upper pick down to a depth of 260 m at the offset 700 m.
	at := func(k int, axis string) float64 {
		return eval[float64](ctx, t, fmt.Sprintf(`(() => { const r = document.querySelectorAll(".handle")[%d].getBoundingClientRect(); return r.%s + 6; })()`, k, axis))
	}
	x, y := at(0, "x"), at(0, "y")
	down := eval[float64](ctx, t, `gatherPanel.map.latLngToContainerPoint([260, 2]).y + gatherPanel.$("map").getBoundingClientRect().y`)
	mouse := func(kind input.MouseType, x, y float64) chromedp.Action {
		return input.DispatchMouseEvent(kind, x, y).WithButton(input.Left).WithClickCount(1)
	}
	do(ctx, t, mouse(input.MousePressed, x, y), mouse(input.MouseMoved, x, (y+down)/2), mouse(input.MouseMoved, x, down), mouse(input.MouseReleased, x, down))
	x, y = at(1, "x"), at(1, "y")
	do(ctx, t, input.DispatchMouseEvent(input.MousePressed, x, y).WithButton(input.Right).WithClickCount(1),
		input.DispatchMouseEvent(input.MouseReleased, x, y).WithButton(input.Right).WithClickCount(1))
	x = eval[float64](ctx, t, `gatherPanel.map.latLngToContainerPoint([420, 0]).x + gatherPanel.$("map").getBoundingClientRect().x`)
	y = eval[float64](ctx, t, `gatherPanel.map.latLngToContainerPoint([420, 0]).y + gatherPanel.$("map").getBoundingClientRect().y`)
	do(ctx, t, input.DispatchMouseEvent(input.MousePressed, x, y).WithButton(input.Left).WithClickCount(1).WithModifiers(input.ModifierShift),
		input.DispatchMouseEvent(input.MouseReleased, x, y).WithButton(input.Left).WithClickCount(1).WithModifiers(input.ModifierShift))
	do(ctx, t, chromedp.Click("#save", chromedp.ByQuery), chromedp.Poll(`byId("saved").textContent !== ""`, nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(0)))
	settle(ctx, t)
	p, err := h5.ReadPicks(s.output)
	if err != nil {
		t.Fatal(err)
	}
	c := p.Columns
	if len(c.X) != 3 {
		t.Fatalf("%d picks are saved, want 3: %v", len(c.X), c)
	}
	gamma := math.Sqrt(1 + (260*260-200*200)*4.0/(700*700))
	for i, want := range []struct{ x, z, gamma, certainty float64 }{{200, 200, gamma, 1}, {400, 300, 1.02, 0.5}, {200, 420, 1, 1}} {
		if c.X[i] != want.x || math.Abs(c.Z[i]-want.z) > 3 || math.Abs(c.Gamma[i]-want.gamma) > 0.01 || c.Certainty[i] != want.certainty {
			t.Errorf("pick %d: x %g, z %g, γ %g, certainty %g, want %v", i, c.X[i], c.Z[i], c.Gamma[i], c.Certainty[i], want)
		}
	}
	if attrs, err := h5.ReadAttrs(s.output); err != nil || !slices.Contains(attrs, h5.Attr{Name: "note", Value: "kept"}) {
		t.Errorf("the attributes are %v (%v), want those of the picks", attrs, err)
	}
	shoot(ctx, t, "picked")
}

// Velocity picks lie on the spectrum of their place. One is dragged, one taken out, one added, and saved as text.
func TestPageOfVelocityPicks(t *testing.T) {
	folder := t.TempDir()
	spectra, table := filepath.Join(folder, "spectra.h5"), filepath.Join(folder, "picks.csv")
	g := grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{100, 0.02}, Shape: []int{5, 51}, Domain: grid.Time}
	w, err := h5.CreateImage(spectra, &h5.Image{Grid: g, Data: make([]float32, g.Len()), Gathers: &h5.Gathers{Kind: "velocity", Centers: []float64{1500, 2000, 2500, 3000, 3500}}}, h5.WriteOptions{})
	if err == nil {
		err = errors.Join(w.WriteGathers(make([]float32, 5*g.Len()), 0), w.Commit())
	}
	before := []midpoint.Pick{{X: 200, Time: 0.3, Velocity: 2000, Semblance: 0.7, Width: 100, Certainty: 0.4}, {X: 200, Time: 0.7, Velocity: 2500, Certainty: 0.5}, {X: 400, Time: 0.5, Velocity: 2200, Certainty: 0.6}}
	if err := errors.Join(err, midpoint.WritePicks(table, before, false)); err != nil {
		t.Fatal(err)
	}
	ctx, s := browserOf(t, spectra, table)
	place := func(panel string, down, right float64) (x, y float64) {
		where := func(axis string) float64 {
			return eval[float64](ctx, t, fmt.Sprintf(`%s.map.latLngToContainerPoint([%g, %g]).%s + %[1]s.$("map").getBoundingClientRect().%[4]s`, panel, down, right, axis))
		}
		return where("x"), where("y")
	}
	x, y := place("panels[0]", 0.5, 200)
	do(ctx, t, chromedp.MouseClickXY(x, y))
	settle(ctx, t)
	if n := eval[int](ctx, t, `document.querySelectorAll(".handle").length`); n != 2 {
		t.Fatalf("%d picks lie on the spectrum at x = 200, want 2", n)
	}
	mouse := func(kind input.MouseType, button input.MouseButton, held input.Modifier, x, y float64) chromedp.Action {
		return input.DispatchMouseEvent(kind, x, y).WithButton(button).WithClickCount(1).WithModifiers(held)
	}
	x, y = place("gatherPanel", 0.3, 1)
	toX, toY := place("gatherPanel", 0.4, 1.4) // 2200 m/s
	do(ctx, t, mouse(input.MousePressed, input.Left, 0, x, y), mouse(input.MouseMoved, input.Left, 0, (x+toX)/2, (y+toY)/2),
		mouse(input.MouseMoved, input.Left, 0, toX, toY), mouse(input.MouseReleased, input.Left, 0, toX, toY))
	x, y = place("gatherPanel", 0.7, 2)
	do(ctx, t, mouse(input.MousePressed, input.Right, 0, x, y), mouse(input.MouseReleased, input.Right, 0, x, y))
	x, y = place("gatherPanel", 0.9, 3)
	do(ctx, t, mouse(input.MousePressed, input.Left, input.ModifierShift, x, y), mouse(input.MouseReleased, input.Left, input.ModifierShift, x, y))
	shoot(ctx, t, "velocities")
	do(ctx, t, chromedp.Click("#save", chromedp.ByQuery), chromedp.Poll(`byId("saved").textContent !== ""`, nil, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(0)))
	settle(ctx, t)
	got, err := midpoint.ReadPicks(s.output)
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v are saved, want 3 picks", got, err)
	}
	for i, want := range []midpoint.Pick{{X: 200, Time: 0.4, Velocity: 2200, Certainty: 1}, {X: 400, Time: 0.5, Velocity: 2200, Certainty: 0.6}, {X: 200, Time: 0.9, Velocity: 3000, Certainty: 1}} {
		if p := got[i]; p.X != want.X || math.Abs(p.Time-want.Time) > 0.01 || math.Abs(p.Velocity-want.Velocity) > 20 || p.Certainty != want.Certainty {
			t.Errorf("pick %d is %+v, want %+v", i, p, want)
		}
	}
}

// The slider of a survey brings one shot to the screen.
func TestPageOfSurvey(t *testing.T) {
	ctx := browser(t, makeSurvey(t))
	do(ctx, t, chromedp.Evaluate(`(() => { const s = panels[0].root.querySelector("[data-axis=shot]"); s.value = 1; s.dispatchEvent(new Event("input")); })()`, nil))
	settle(ctx, t)
	if got, want := eval[float64](ctx, t, at("panels[0]", "5", "0.02")), traceValue(5, 2); math.Abs(got-want) > nearly {
		t.Errorf("trace 5 is %g at 0.02 s, want %g", got, want)
	}
	if from, to := eval[float64](ctx, t, "panels[0].map.getBounds().getWest()"), eval[float64](ctx, t, "panels[0].map.getBounds().getEast()"); from < 2 || to > 10 {
		t.Errorf("traces %g to %g are on the screen, want 4 to 7 and little beside", from, to)
	}
	shoot(ctx, t, "survey")
}

// A section of a 3-D image moves with its slider.
func TestPage3D(t *testing.T) {
	ctx := browser(t, make3D(t))
	if got, want := eval[float64](ctx, t, at("panels[0]", "30", "50")), imageValue(3, 4, 5); math.Abs(got-want) > nearly {
		t.Errorf("the section in the middle is %g at x = 30, z = 50, want %g", got, want)
	}
	do(ctx, t, chromedp.Evaluate(`(() => { const s = panels[0].root.querySelector("[data-axis=y]"); s.value = 6; s.dispatchEvent(new Event("input")); s.dispatchEvent(new Event("change")); })()`, nil))
	settle(ctx, t)
	if got, want := eval[float64](ctx, t, at("panels[0]", "30", "50")), imageValue(3, 6, 5); math.Abs(got-want) > nearly {
		t.Errorf("the section at y = 60 is %g at x = 30, z = 50, want %g", got, want)
	}
	do(ctx, t, chromedp.Evaluate(`panels[0].$("section").value = "0,1"; panels[0].turn()`, nil))
	settle(ctx, t)
	if got, want := eval[float64](ctx, t, at("panels[0]", "30", "60")), imageValue(3, 6, 4); math.Abs(got-want) > nearly {
		t.Errorf("the section in depth is %g at x = 30, y = 60, want %g", got, want)
	}
	if got, want := eval[float64](ctx, t, at("panels[0]", "30", "20")), imageValue(3, 2, 4); math.Abs(got-want) > nearly {
		t.Errorf("the section in depth is %g at x = 30, y = 20, want %g", got, want)
	}
	if !eval[bool](ctx, t, `panels[0].map.latLngToContainerPoint([60, 30]).y < panels[0].map.latLngToContainerPoint([20, 30]).y`) {
		t.Error("on a map y = 60 lies below y = 20, want it above, as lsm plot draws it")
	}
	shoot(ctx, t, "slices")
}
