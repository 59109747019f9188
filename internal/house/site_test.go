package house

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// shown is what a browser finds on a page of the site.
type shown struct {
	Links, Anchors, Missing []string // addresses, names, addresses of pictures that are not drawn
	Wide                    []string // what sticks out of the page
}

const look = `(() => {
	const attributes = (of, name) => Array.from(document.querySelectorAll(of), e => e[name]);
	const scrolls = e => { for (; e.tagName !== "ARTICLE"; e = e.parentElement) if (getComputedStyle(e).overflowX !== "visible") return true; return false };
	document.querySelectorAll("img").forEach(e => e.loading = "eager");
	return {
		Links: attributes("a[href]", "href"),
		Anchors: attributes("[id]", "id"),
		Missing: Array.from(document.images).filter(e => !e.complete || !e.naturalWidth).map(e => e.src),
		Wide: Array.from(document.querySelectorAll("article *")).filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement)).map(e => e.outerHTML.slice(0, 100)),
	}
})()`

// TestSite opens every page of the documentation site in a headless browser, as on a telephone:
// links and their anchors are there, pictures are drawn, nothing is wider than the page, nothing is
// asked of another host, and no script complains. LSM_TEST_SITE names the site's folder.
func TestSite(t *testing.T) {
	folder := os.Getenv("LSM_TEST_SITE")
	if folder == "" {
		t.Skip("not run: LSM_TEST_SITE names no site (make site-check)")
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	t.Cleanup(server.Close)
	ctx := watched(t, server.URL)
	phone := emulation.SetDeviceMetricsOverride(390, 844, 1, true)
	open(ctx, t, phone)

	pages := map[string]*shown{}
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		short, _ := filepath.Rel(folder, name)
		short = filepath.ToSlash(short)
		var text string
		open(ctx, t, chromedp.Navigate(server.URL+"/"+short), chromedp.Evaluate("JSON.stringify("+look+")", &text))
		page := new(shown)
		pages[short] = page
		return json.Unmarshal([]byte(text), page)
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 60 {
		t.Errorf("%d pages", len(pages))
	}
	checked := 0
	for name, page := range pages {
		for _, at := range page.Missing {
			t.Errorf("%s: no picture %s", name, at)
		}
		for _, element := range page.Wide {
			t.Errorf("%s is wider than a telephone: %s", name, element)
		}
		for _, link := range page.Links {
			if there, ok := strings.CutPrefix(link, server.URL); ok {
				checked++
				if fault := leads(folder, there, pages); fault != "" {
					t.Errorf("%s: link to %s: %s", name, there, fault)
				}
			}
		}
	}
	t.Logf("%d pages, %d links", len(pages), checked)
	search(ctx, t, server.URL)
	shoot(ctx, t, server.URL)
}

// leads says what is wrong with a link to a place of the site.
func leads(folder, link string, pages map[string]*shown) string {
	to, err := url.Parse(link)
	if err != nil {
		return err.Error()
	}
	name := strings.TrimPrefix(to.Path, "/")
	if name == "" || strings.HasSuffix(name, "/") {
		name = path.Join(name, "index.html")
	}
	page := pages[name]
	if page == nil {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return "there is none"
		}
		return ""
	}
	if to.Fragment == "" {
		return ""
	}
	for _, anchor := range page.Anchors {
		if anchor == to.Fragment {
			return ""
		}
	}
	return "there is no such anchor"
}

// watched starts a browser whose complaints, and requests to other hosts than one, are errors.
func watched(t *testing.T, host string) context.Context {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("no browser: neither chromium nor google-chrome is in PATH")
	}
	const patience = 10 * time.Minute
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WSURLReadTimeout(patience))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {})) // its protocol is newer than the library
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	var lock sync.Mutex
	complain := func(format string, args ...any) {
		lock.Lock()
		defer lock.Unlock()
		t.Errorf(format, args...)
	}
	chromedp.ListenTarget(ctx, func(event any) {
		switch event := event.(type) {
		case *network.EventRequestWillBeSent:
			if u := event.Request.URL; !strings.HasPrefix(u, host+"/") && !strings.HasPrefix(u, "data:") {
				complain("%s asks for %s", event.DocumentURL, u)
			}
		case *network.EventResponseReceived:
			if event.Response.Status >= 400 {
				complain("%s: status %d", event.Response.URL, event.Response.Status)
			}
		case *runtime.EventExceptionThrown:
			complain("exception: %v", event.ExceptionDetails)
		case *runtime.EventConsoleAPICalled:
			if event.Type == runtime.APITypeError {
				complain("console: %s", event.Args[0].Value)
			}
		case *log.EventEntryAdded:
			if event.Entry.Level == log.LevelError {
				complain("%s: %s", event.Entry.URL, event.Entry.Text)
			}
		}
	})
	open(ctx, t, network.Enable(), log.Enable())
	return ctx
}

func open(ctx context.Context, t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	if err := chromedp.Run(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// search finds a configuration key on its page by the site's own search.
func search(ctx context.Context, t *testing.T, host string) {
	t.Helper()
	var found []string
	open(ctx, t, chromedp.Navigate(host+"/search.html?q=aperture_taper"),
		chromedp.Poll(`/found|match/.test(document.querySelector(".search-summary")?.textContent)`, nil, chromedp.WithPollingTimeout(0)),
		chromedp.Evaluate(`Array.from(document.querySelectorAll("#search-results li a"), e => e.pathname)`, &found))
	for _, name := range found {
		if name == "/configuration.html" {
			return
		}
	}
	t.Errorf("a search for aperture_taper finds %q", found)
}

// shoot keeps pictures of some pages in the folder LSM_TEST_SCREENSHOTS, if it is set.
func shoot(ctx context.Context, t *testing.T, host string) {
	t.Helper()
	folder := os.Getenv("LSM_TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	for _, page := range []string{"index", "overview", "numerics/index", "configuration", "format", "performance", "python", "install",
		"tutorials/first-image", "commands/lsm", "commands/lsm-import", "api/python", "api/c", "changes"} {
		for _, width := range []int64{1400, 390} {
			for _, scheme := range []string{"light", "dark"} {
				var png []byte
				open(ctx, t, emulation.SetDeviceMetricsOverride(width, 900, 1, width < 500),
					emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
					chromedp.Navigate(host+"/"+page+".html"), chromedp.CaptureScreenshot(&png))
				name := fmt.Sprintf("site-%s-%d-%s.png", strings.ReplaceAll(page, "/", "-"), width, scheme)
				if err := os.WriteFile(filepath.Join(folder, name), png, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
