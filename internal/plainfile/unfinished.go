package plainfile

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/google/renameio/v2"
)

// unfinished are the files and folders that this process is writing under temporary names.
var unfinished = struct {
	sync.Mutex
	paths map[string]bool
}{paths: map[string]bool{}}

// Unfinished notes that only this process uses a file or folder at path until it calls done. If the
// process ends before, the file or folder is useless. Call Unfinished before path is made.
func Unfinished(path string) (done func()) {
	unfinished.Lock()
	defer unfinished.Unlock()
	unfinished.paths[path] = true
	return func() {
		unfinished.Lock()
		defer unfinished.Unlock()
		delete(unfinished.paths, path)
	}
}

// Pending begins a file that is seen at path when it is replaced, in the same folder. drop removes it
// unless it was.
func Pending(path string) (file *renameio.PendingFile, drop func(), err error) {
	unfinished.Lock()
	defer unfinished.Unlock()
	file, err = renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return nil, nil, err
	}
	name := file.Name()
	unfinished.paths[name] = true
	return file, func() {
		file.Cleanup()
		unfinished.Lock()
		defer unfinished.Unlock()
		delete(unfinished.paths, name)
	}, nil
}

// Drop removes all that is unfinished, for a process that ends now, whatever its goroutines are at.
// None of them begins another such file, or takes one for finished, afterwards: they wait for ever.
func Drop() {
	unfinished.Lock() // and never unlocked
	for path := range unfinished.paths {
		os.Truncate(path, 0) // frees the disk at once, even where a child still has it open
		os.RemoveAll(path)
	}
}
