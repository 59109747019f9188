package h5

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/kirchhoff-lsm/lsm/internal/plainfile"
)

// CheckOutput reports whether a file can be published at path: its folder
// exists and can be written, path is not a folder or device, and nothing is
// there already unless force is given. It is for the start of a run, hours
// before the output is written.
func CheckOutput(path string, force bool) error {
	if err := checkTarget(path, force); err != nil {
		return err
	}
	// Only an attempt tells whether a folder can be written: permission bits
	// know nothing of read-only mounts, quotas and root.
	probe, err := os.CreateTemp(filepath.Dir(resolve(path)), filepath.Base(path)+".probe-*")
	if err != nil {
		return resourceError(path, "", fmt.Errorf("cannot write in its folder: %w", plainfile.Cause(err)))
	}
	probe.Close()
	os.Remove(probe.Name())
	return nil
}

func checkTarget(path string, force bool) error {
	place := func(format string, args ...any) error {
		return &Error{Path: path, Class: ErrOutput, Err: fmt.Errorf(format, args...)}
	}
	if path == "" {
		return place("the output has no name")
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return place("is a folder, want the name of a file")
	case err == nil && !info.Mode().IsRegular():
		return place("is not a regular file (%s)", info.Mode())
	case err == nil && !force:
		return place("already exists; --force overwrites%w", hidden{fs.ErrExist})
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return resourceError(path, "", plainfile.Cause(err))
	}
	folder := filepath.Dir(resolve(path))
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return place("there is no folder %s", folder)
	}
	return nil
}

// resolve follows a symbolic link, so that a link from a small disk to a large
// one stays a link.
func resolve(path string) string {
	if target, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		return target
	}
	return path
}

// temporary is a name beside the target that no other process uses. It has the machine's
// name, the process's number, and, for containers where both may be equal, chance.
func temporary(target string) string {
	return fmt.Sprintf("%s%s%s-%d-%08x", target, temporaryMark, hostName(), os.Getpid(), rand.Uint32())
}

const temporaryMark = ".tmp-"

// hostName is fit for the name of a file.
func hostName() string {
	host, _ := os.Hostname() // "" will do
	return strings.Map(func(r rune) rune {
		if r == '.' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, host)
}

// Sweep removes the unfinished files that match a pattern, such as "image.h5.tmp-*",
// and that no living process is writing. One that stays does no harm.
func Sweep(pattern string) {
	left, _ := filepath.Glob(pattern)
	for _, path := range left {
		if abandoned(path) {
			os.Remove(path)
		}
	}
}

// EscapeGlob makes a path a pattern that matches nothing else.
func EscapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

// abandoned reports whether no process writes an unfinished file any more. The library locks a file
// that it writes. On a file system without locks, only processes of this machine can be found to be
// gone.
func abandoned(temp string) bool {
	f, err := plainfile.Open(temp)
	if err != nil {
		return false
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false
	}
	locks := err == nil
	_, mark, _ := strings.Cut(filepath.Base(temp), temporaryMark)
	parts := strings.Split(mark, "-")
	if len(parts) != 3 || parts[0] != hostName() {
		return locks
	}
	pid, err := strconv.Atoi(parts[1])
	return err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// publish makes the finished temporary file the output: synced, renamed, and
// its folder synced.
func publish(temp, target string) error {
	err := plainfile.Sync(temp)
	if err == nil {
		err = os.Rename(temp, target)
	}
	if err == nil {
		err = plainfile.Sync(filepath.Dir(target))
	}
	return plainfile.Cause(err)
}

// discard removes a temporary file. The library may keep a file open that it
// could not finish; cutting it to nothing frees the disk at once even then.
func discard(temp string) {
	os.Truncate(temp, 0)
	os.Remove(temp)
}
