package report

import (
	"html"
	"io"
	"os"
	"regexp"
)

// generator is what a page says that it was made by.
const generator = "lsm report"

// mostHead is in how many bytes of a page its origin stands.
const mostHead = 1 << 16

var origin = regexp.MustCompile(`<meta name="generator" content="` + generator + `"/>\s*<meta name="source" content="([^"]*)"/>`)

// Source reads from what the page at path was made, as Run.Source says; "" for a file
// that is no page of Write.
func Source(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, mostHead))
	found := origin.FindSubmatch(head)
	if err != nil || found == nil {
		return ""
	}
	return html.UnescapeString(string(found[1]))
}
