package view

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// browser opens the page of files in a headless browser. It skips the test where there is none.
func browser(t *testing.T, paths ...string) context.Context {
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
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(1280, 760))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {})) // its protocol is newer than the library
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(event any) {
		if dialog, ok := event.(*page.EventJavascriptDialogOpening); ok {
			t.Errorf("the page opened a dialog: %s", dialog.Message)
		}
	})
	do(ctx, t, chromedp.Navigate(s.URL()))
	settle(ctx, t)
	return ctx
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
	do(ctx, t, chromedp.Poll("document.body.dataset.settled && pending === 0", nil, chromedp.WithPollingInterval(20*time.Millisecond)))
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
	shoot(ctx, t, "slices")
}
