package tutorials

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Fonts and edges of another browser differ.
const browserTolerance = 8

// screenshot opens the files of a command lsm view in a headless browser, clicks where the page's image
// has a point that the command's comment names ("# click X,Z"), and keeps the page as a picture.
func screenshot(t *testing.T, e exhibit, env []string, out string) {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		if browser, err = exec.LookPath("google-chrome"); err != nil {
			t.Skip("no browser: neither chromium nor google-chrome is in PATH")
		}
	}
	command, place, _ := strings.Cut(strings.TrimSpace(e.commands), "# click ")
	var x, z float64
	if _, err := fmt.Sscanf(place, "%g,%g", &x, &z); err != nil {
		t.Fatalf("%s: no point to click at: %v", e.name, err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox,
		chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {})) // its protocol is newer than the library
	defer cancel()

	settled := chromedp.Poll("document.body.dataset.settled && pending === 0", nil, chromedp.WithPollingTimeout(0))
	var at [2]float64
	point := fmt.Sprintf(`(() => { const r = panels[0].$("map").getBoundingClientRect(), p = panels[0].map.latLngToContainerPoint([%g, %g]); return [r.x + p.x, r.y + p.y]; })()`, z, x)
	var png []byte
	err = chromedp.Run(ctx, chromedp.EmulateViewport(1000, 600, chromedp.EmulateScale(2)), chromedp.Navigate(serve(t, strings.Fields(command)[1:], env, out)), settled, chromedp.Evaluate(point, &at))
	if err == nil {
		err = chromedp.Run(ctx, chromedp.MouseClickXY(at[0], at[1]), settled, chromedp.CaptureScreenshot(&png))
	}
	if err != nil {
		t.Fatalf("%s: %v", e.name, err)
	}
	if err := os.WriteFile(filepath.Join(out, e.name+".png"), png, 0o644); err != nil {
		t.Fatal(err)
	}
}

// serve starts lsm view until the test ends and returns its address.
func serve(t *testing.T, args, env []string, out string) string {
	t.Helper()
	var lsm string
	for _, v := range env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			lsm = filepath.Join(filepath.SplitList(path)[0], "lsm")
		}
	}
	cmd := exec.Command(lsm, append(args, "--json")...)
	cmd.Dir, cmd.Env = out, env
	said, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for line := bufio.NewScanner(said); line.Scan(); {
		var event struct{ Event, URL string }
		if json.Unmarshal(line.Bytes(), &event) == nil && event.Event == "view" {
			return event.URL
		}
	}
	t.Fatalf("lsm %s names no address", strings.Join(args, " "))
	return ""
}
