// Package dynlib finds and loads shared libraries at run time, so that a build needs none of them.
package dynlib

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "library.h"
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Library lists the names under which a shared library is looked for.
type Library struct {
	Name     string   // in a configuration, "" where none names it
	What     string   // for messages
	Label    string   // for lists, "" where What will do
	Variable string   // environment variable that names a file instead
	Names    []string // tried in order by the loader's own rules
	Folders  []string // tried after that; they may begin with an environment variable: $CUDA_HOME/lib64
	Hint     string   // what to do if it is missing
	Global   bool     // its symbols serve what is loaded later, such as its own plug-ins
	Needs    []string // libraries that it needs of its own folder, such as libcublasLt, in its own version
}

// Candidates are the names to try, in order.
func (l Library) Candidates() []string {
	if file := os.Getenv(l.Variable); file != "" {
		return []string{file}
	}
	all := append([]string(nil), l.Names...)
	for _, folder := range l.Folders {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(folder, "$"), "/"); ok && folder[0] == '$' {
			base := os.Getenv(name)
			if base == "" {
				continue
			}
			folder = filepath.Join(base, rest)
		}
		for _, name := range l.Names {
			all = append(all, filepath.Join(folder, name))
		}
	}
	return all
}

// Find returns the file of the first candidate that exists, or "". Candidates may be
// patterns, such as libmpi.so.*. loader lists the folders of the system's loader. Find
// loads nothing.
func (l Library) Find(loader []string) string {
	for _, name := range l.Candidates() {
		places := []string{name}
		if !strings.Contains(name, "/") { // as the loader sees it
			places = nil
			for _, folder := range loader {
				places = append(places, filepath.Join(folder, name))
			}
		}
		for _, place := range places {
			files, _ := filepath.Glob(place) // the patterns are right
			for _, file := range files {
				if _, err := os.Stat(file); err == nil {
					return file
				}
			}
		}
	}
	return ""
}

// Open loads the first candidate that can be loaded. Its error is a missing resource that
// says what was looked for and carries the hint.
func (l Library) Open() (handle unsafe.Pointer, name string, err error) {
	names := l.Candidates()
	global := C.int(0)
	if l.Global {
		global = 1
	}
	why := "there is no " + strings.Join(names, ", ")
	for _, name := range names {
		_, version, _ := strings.Cut(filepath.Base(name), ".so")
		for _, need := range l.Needs {
			OpenBeside(name, need+".so"+version)
		}
		var text string
		if handle, text = open(name, global); handle != nil {
			return handle, name, nil
		}
		// A file that exists but cannot be loaded, itself or what it needs, explains the failure better.
		if !strings.HasPrefix(text, name+": ") || !strings.Contains(text, "No such file") {
			why = text
		}
	}
	return nil, "", status.Resource(status.Hint(fmt.Errorf("%s cannot be loaded: %s", l.What, why), l.Hint))
}

// open loads a library, or says why it cannot.
func open(name string, global C.int) (handle unsafe.Pointer, why string) {
	file := C.CString(name)
	defer C.free(unsafe.Pointer(file))
	var text *C.char
	handle = C.library_open(file, global, &text)
	return handle, C.GoString(text)
}

// OpenBeside loads libraries that another one requests from the loader only by their names.
// The loader does not look into the folder of a library that was loaded by its full path and
// says nothing of where to look (it has no run path), as in some of NVIDIA's packages for
// Python. The loader finds loaded libraries by name. Names that are not there are left out.
func OpenBeside(file string, names ...string) {
	if !strings.Contains(file, "/") {
		return
	}
	folders := []string{filepath.Dir(file)}
	if real, err := filepath.EvalSymlinks(file); err == nil && filepath.Dir(real) != folders[0] {
		folders = append(folders, filepath.Dir(real))
	}
	for _, name := range names {
		for _, folder := range folders {
			if handle, _ := open(filepath.Join(folder, name), 1); handle != nil {
				break
			}
		}
	}
}

// Close gives a library back that was opened.
func Close(handle unsafe.Pointer) { C.library_close(handle) }
