package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	mdast "github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// sentence is one sentence of the project's prose.
type sentence struct {
	tree string // docs, comments or help
	path string // from the root, with slashes
	line int    // where the sentence begins
	text string // on one line; code stays between backquotes
}

// line is a line of prose and its number in the file.
type line struct {
	number int
	text   string
}

// prose reads the sentences of a tree in the order of paths and lines: its pages, the comments of
// its Go, C and CUDA files, and the texts of its commands and configuration keys.
func prose(t *testing.T, tree string) (all []sentence) {
	t.Helper()
	err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != tree && (name[0] == '.' || slices.Contains([]string{"testdata", "packages", "build", "shared", "node_modules"}, name) || path == filepath.Join(tree, "site")) {
				return filepath.SkipDir
			}
			return nil
		}
		short, err := filepath.Rel(tree, path)
		if err != nil {
			return err
		}
		read, ok := readers[filepath.Ext(name)]
		if !ok || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err == nil && !generated.Match(source[:min(len(source), 100)]) {
			all = append(all, read(t, filepath.ToSlash(short), source)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// generated begins files and tables that a program writes, and the bad examples of docs/style.md.
var generated = regexp.MustCompile("(?m)^(<!-- Made |<!-- Before and after|// Code generated )")

type reader func(t *testing.T, path string, source []byte) []sentence

var readers = map[string]reader{
	".md": readPage, ".go": readGo, ".txt": readHelp,
	".c": readC, ".h": readC, ".cpp": readC, ".cu": readC,
}

// readPage reads the paragraphs, list items and table cells of a page in Markdown, without its
// blocks of code and without cells that hold nothing but code.
func readPage(_ *testing.T, path string, source []byte) (all []sentence) {
	if !strings.HasPrefix(path, "docs/") && !strings.HasPrefix(path, "tutorials/") && strings.Contains(path, "/") {
		return nil
	}
	numbers := numbersOf(source)
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	_ = mdast.Walk(tree, func(n mdast.Node, entering bool) (mdast.WalkStatus, error) {
		if !entering {
			return mdast.WalkContinue, nil
		}
		switch n.Kind() {
		case extast.KindTable:
			if before := n.PreviousSibling(); before != nil && before.Kind() == mdast.KindHTMLBlock && generated.Match(before.Lines().Value(source)) {
				return mdast.WalkSkipChildren, nil
			}
			return mdast.WalkContinue, nil
		case mdast.KindParagraph, mdast.KindTextBlock:
		case extast.KindTableCell:
			if n.ChildCount() == 1 && n.FirstChild().Kind() == mdast.KindCodeSpan {
				return mdast.WalkSkipChildren, nil
			}
		default:
			return mdast.WalkContinue, nil
		}
		var lines []line
		written(n, source, numbers, &lines)
		all = append(all, sentences("docs", path, lines)...)
		return mdast.WalkSkipChildren, nil
	})
	return all
}

// written appends the words of a node of Markdown: of links their text, of code its backquotes too.
func written(n mdast.Node, source []byte, numbers func(int) int, lines *[]line) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *mdast.Text:
			end := ""
			if c.SoftLineBreak() || c.HardLineBreak() {
				end = " "
			}
			*lines = append(*lines, line{numbers(c.Segment.Start), string(c.Value(source)) + end})
		case *mdast.CodeSpan:
			*lines = append(*lines, line{0, "`"})
			written(c, source, numbers, lines)
			*lines = append(*lines, line{0, "`"})
		case *mdast.AutoLink, *mdast.RawHTML:
		default:
			written(c, source, numbers, lines)
		}
	}
}

// numbersOf gives the number of the line that holds a place in a file.
func numbersOf(source []byte) func(int) int {
	var ends []int
	for i, b := range source {
		if b == '\n' {
			ends = append(ends, i)
		}
	}
	return func(place int) int {
		n, _ := slices.BinarySearch(ends, place)
		return n + 1
	}
}

// The methods of a set of flags whose last argument is a text of help.
var flagged = regexp.MustCompile(`^(String|Int|Int64|Uint|Uint64|Bool|Float64|Duration|Count)(Slice|Array)?(Var)?P?$`)

// readGo reads the comments of a Go file, the help texts in its tags, and the texts of its commands.
func readGo(t *testing.T, path string, source []byte) (all []sentence) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	preambles := map[*ast.CommentGroup]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.IMPORT && len(d.Specs) == 1 && d.Specs[0].(*ast.ImportSpec).Path.Value == `"C"` {
			preambles[d.Doc] = true
		}
		return true
	})
	for _, group := range file.Comments {
		if preambles[group] {
			continue
		}
		var lines []line
		for _, c := range group.List {
			first := set.Position(c.Pos()).Line
			if rest, ok := strings.CutPrefix(c.Text, "//"); ok {
				if rest == "" || rest[0] == ' ' || rest[0] == '\t' { // not a directive
					lines = append(lines, line{first, rest})
				}
				continue
			}
			for i, rest := range strings.Split(strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/"), "\n") {
				lines = append(lines, line{first + i, rest})
			}
		}
		all = append(all, paragraphs("comments", path, lines)...)
	}
	help := func(lit ast.Expr, text string) {
		var lines []line
		first := set.Position(lit.Pos()).Line
		for i, part := range strings.Split(text, "\n") {
			if !strings.Contains(text, "\n") || first == set.Position(lit.End()).Line {
				i = 0
			}
			lines = append(lines, line{first + i, part})
		}
		all = append(all, paragraphs("help", path, lines)...)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				tag, _ := strconv.Unquote(n.Tag.Value)
				help(n.Tag, reflect.StructTag(tag).Get("help"))
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Short" || key.Name == "Long") {
				help(n.Value, literal(n.Value))
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && flagged.MatchString(f.Sel.Name) && len(n.Args) > 2 {
				help(n.Args[len(n.Args)-1], literal(n.Args[len(n.Args)-1]))
			}
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b sentence) int { return a.line - b.line })
	return all
}

// literal is the text of literals that are added, with the rest left out.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.BinaryExpr:
		return literal(e.X) + literal(e.Y)
	case *ast.Ident, *ast.CallExpr, *ast.SelectorExpr:
		return "`x`"
	}
	return ""
}

// readHelp reads the texts of commands that are files of their own.
func readHelp(_ *testing.T, path string, source []byte) []sentence {
	if !strings.HasPrefix(path, "cmd/lsm/internal/cli/") {
		return nil
	}
	var lines []line
	for i, l := range strings.Split(string(source), "\n") {
		lines = append(lines, line{i + 1, l})
	}
	return paragraphs("help", path, lines)
}

var (
	remark  = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'`)
	starred = regexp.MustCompile(`^\s*\*+ ?`)
)

// readC reads the comments of a file in C, C++ or CUDA.
func readC(_ *testing.T, path string, source []byte) (all []sentence) {
	numbers := numbersOf(source)
	var lines []line
	flush := func() {
		all = append(all, paragraphs("comments", path, lines)...)
		lines = nil
	}
	last := -1
	for _, at := range remark.FindAllIndex(source, -1) {
		body := string(source[at[0]:at[1]])
		if body[0] != '/' {
			continue
		}
		first := numbers(at[0])
		begin := bytes.LastIndexByte(source[:at[0]], '\n') + 1
		trailing := len(bytes.TrimSpace(source[begin:at[0]])) > 0
		if first != last+1 || trailing {
			flush()
		}
		if rest, ok := strings.CutPrefix(body, "//"); ok {
			lines = append(lines, line{first, rest})
		} else {
			for i, rest := range strings.Split(body[2:len(body)-2], "\n") {
				lines = append(lines, line{first + i, " " + starred.ReplaceAllString(strings.TrimSpace(rest), "")})
			}
		}
		last = numbers(at[1] - 1)
		if trailing {
			last = -1
			flush()
		}
	}
	flush()
	return all
}

var item = regexp.MustCompile(`^\s*(?:[-*•]|\d+\.)\s+`)

// paragraphs parts lines at empty ones, at headings and at items of lists. It leaves out blocks of
// code, whose lines are indented.
func paragraphs(tree, path string, lines []line) (all []sentence) {
	var one []line
	flush := func() {
		all = append(all, sentences(tree, path, one)...)
		one = nil
	}
	afterItem := false
	for _, l := range lines {
		body := strings.TrimRight(l.text, " \t\r")
		switch {
		case strings.TrimSpace(body) == "":
			flush()
			afterItem = false
			continue
		case item.MatchString(body):
			flush()
			body, afterItem = item.ReplaceAllString(body, ""), true
		case strings.HasPrefix(body, "\t") || strings.HasPrefix(body, "  ") && !afterItem && (tree == "help" || len(one) == 0):
			flush()
			continue
		case strings.HasPrefix(strings.TrimSpace(body), "#"):
			flush()
			continue
		}
		one = append(one, line{l.number, strings.TrimSpace(body) + " "})
	}
	flush()
	return all
}

// abbreviated are the ends of words that end no sentence.
var abbreviated = regexp.MustCompile(`(?:(?:^|[ (])[A-Z]|\b(?:e\.g|i\.e|cf|vs|al|Fig|Eq|eq|vol|no|pp|p|ch|chap|sec|approx|resp|incl|ed|eds|St|Dr|Jr|Geophys|Prosp|Comput|Phys|Math|Appl|Comm|Pure|Soc|Am|Bull|Proc|Trans|Res|Perform|Int)|\.\.)\.$`)

// sentences parts the lines of one paragraph into sentences.
func sentences(tree, path string, lines []line) (all []sentence) {
	var b strings.Builder
	var starts []int // of lines, in b
	for _, l := range lines {
		starts = append(starts, b.Len())
		b.WriteString(l.text)
	}
	whole := b.String()
	add := func(from, to int) {
		words := strings.Join(strings.Fields(whole[from:to]), " ")
		if !strings.ContainsFunc(words, unicode.IsLetter) || !strings.Contains(words, " ") {
			return
		}
		from += len(whole[from:to]) - len(strings.TrimLeft(whole[from:to], " \t"))
		n, found := slices.BinarySearch(starts, from)
		if !found {
			n--
		}
		number := 0
		for i := n; i >= 0 && number == 0; i-- {
			number = lines[i].number
		}
		for i := n; i < len(lines) && number == 0; i++ {
			number = lines[i].number
		}
		all = append(all, sentence{tree, path, number, words})
	}
	from, code := 0, false
	for i, c := range whole {
		if c == '`' {
			code = !code
		}
		if code || c != '.' && c != '!' && c != '?' {
			continue
		}
		rest := strings.TrimLeft(whole[i+1:], `)"”*_`)
		next := strings.TrimLeft(rest, " \t")
		if next != "" && len(next) == len(rest) {
			continue // inside a word
		}
		first, _ := utf8.DecodeRuneInString(next)
		if c == '.' && abbreviated.MatchString(whole[from:i+1]) || unicode.IsLower(first) && (c != '.' || strings.HasSuffix(whole[:i], "etc")) {
			continue
		}
		end := i + 1 + len(whole[i+1:]) - len(rest)
		add(from, end)
		from = end
	}
	add(from, len(whole))
	return all
}
