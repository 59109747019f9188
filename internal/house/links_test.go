package house

import (
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// document is what links need of a page in Markdown.
type document struct {
	links   []string
	anchors map[string]bool
}

// The characters that a forge leaves out of a heading's anchor.
var unnamed = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

func readDocument(source []byte) *document {
	d := &document{anchors: map[string]bool{}}
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			d.links = append(d.links, string(n.Destination))
		case *ast.Image:
			d.links = append(d.links, string(n.Destination))
		case *ast.Heading:
			name := strings.ReplaceAll(unnamed.ReplaceAllString(strings.ToLower(spoken(n, source)), ""), " ", "-")
			first := name
			for i := 1; d.anchors[name]; i++ {
				name = fmt.Sprintf("%s-%d", first, i)
			}
			d.anchors[name] = true
		}
		return ast.WalkContinue, nil
	})
	return d
}

// spoken is the text of a heading without its marks.
func spoken(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if leaf, ok := c.(*ast.Text); ok {
			b.Write(leaf.Value(source))
		} else {
			b.WriteString(spoken(c, source))
		}
	}
	return b.String()
}

// documents reads all pages of a folder in Markdown, but for those of other programs.
func documents(t *testing.T, folder string) map[string]*document {
	t.Helper()
	all := map[string]*document{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != folder && (name[0] == '.' && name != ".github" || name == "testdata" || name == "packages" || name == "build") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		source, err := os.ReadFile(path)
		all[filepath.Clean(path)] = readDocument(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// follow makes sure that what pages link to beside them is there, anchors included.
func follow(t *testing.T, all map[string]*document) {
	t.Helper()
	seen := 0
	for path, d := range all {
		for _, link := range d.links {
			to, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if to.Scheme != "" {
				continue
			}
			seen++
			target := path
			if to.Path != "" {
				target = filepath.Join(filepath.Dir(path), filepath.FromSlash(to.Path))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link to %s: there is none", path, link)
			} else if to.Fragment != "" && (all[target] == nil || !all[target].anchors[to.Fragment]) {
				t.Errorf("%s: link to %s: there is no such heading", path, link)
			}
		}
	}
	if len(all) < 30 || seen < 100 {
		t.Errorf("%d links on %d pages", seen, len(all))
	}
}

// TestLinks follows the links in this tree.
func TestLinks(t *testing.T) { follow(t, documents(t, root)) }

var listed = regexp.MustCompile("(?s)```\\{toctree\\}\n(.*?)```")

// TestStage follows the links of the site's sources, and makes sure that every page is in one of
// its lists, without which Sphinx would not build it.
func TestStage(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("not run: ", err)
	}
	folder, commands := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(commands, "lsm.md"), []byte("# lsm\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python, filepath.Join(root, "docs/site/stage.py"), folder, commands).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := documents(t, folder)
	follow(t, all)
	inList := map[string]bool{filepath.Join(folder, "index.md"): true}
	for path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range listed.FindAllSubmatch(text, -1) {
			for _, entry := range strings.Split(string(list[1]), "\n") {
				name := strings.TrimSuffix(entry[strings.LastIndex(entry, "<")+1:], ">")
				inList[filepath.Join(filepath.Dir(path), name)+".md"] = true
			}
		}
	}
	for path := range all {
		if !inList[path] {
			t.Errorf("no list of docs/site/stage.py has %s", strings.TrimPrefix(path, folder))
		}
	}
}

// TestFirstPage makes sure that the site's first page has the speed that docs/pylops.md measures.
func TestFirstPage(t *testing.T) {
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	least, most := math.Inf(1), 0.0
	for _, ratio := range regexp.MustCompile(`ms = ([0-9.]+)`).FindAllStringSubmatch(read("pylops.md"), -1) {
		times, err := strconv.ParseFloat(ratio[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		least, most = min(least, times), max(most, times)
	}
	if want := fmt.Sprintf("takes %v to %v times less time", least, most); !strings.Contains(read("site/index.md"), want) {
		t.Errorf("docs/site/index.md lacks %q, of the table in docs/pylops.md", want)
	}
}
