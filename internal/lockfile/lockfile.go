// Package lockfile keeps two processes from working on one output at the same time.
//
// The lock on NAME is a lock of the operating system (flock) on the file NAME.lock
// next to it. It ends with the process that holds it, however that ends, so a lock file
// that a killed process has left does not block anything. The text inside tells people
// which process holds it.
package lockfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Holder is the process that holds a lock.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// Held is the error of a lock that another process holds.
type Held struct {
	Path string // what is locked
	By   Holder // PID 0: not known
}

func (h *Held) Error() string {
	if h.By.PID == 0 {
		return fmt.Sprintf("%s: another run is writing it", h.Path)
	}
	return fmt.Sprintf("%s: another run is writing it: process %d on %s, since %s", h.Path, h.By.PID, h.By.Host, h.By.Since.UTC().Format(time.RFC3339))
}

// ErrNoLocks says that the file system has no locks.
var ErrNoLocks = errors.New("the file system has no locks")

// Lock is a lock that this process holds.
type Lock struct {
	path string
	file *os.File
}

// suffix turns the name of a locked file into the lock file's name.
const suffix = ".lock"

// Take locks what is, or will be, at path; a symbolic link is followed. It does not
// wait: where another process holds the lock the error is a [*Held]. It is [ErrNoLocks],
// wrapped, on a file system without them.
func Take(path string) (*Lock, error) {
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	for {
		file, err := os.OpenFile(target+suffix, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, fmt.Errorf("%s: cannot be locked: %w", path, err)
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			defer file.Close()
			return nil, &Held{path, holder(file)}
		case err != nil:
			file.Close()
			os.Remove(target + suffix) // no process can hold it
			return nil, fmt.Errorf("%s: cannot be locked: %w", path, ErrNoLocks)
		}
		l := &Lock{target + suffix, file}
		if !l.current() { // its holder has removed it meanwhile
			file.Close()
			continue
		}
		if err := l.sign(); err != nil {
			l.Release()
			return nil, fmt.Errorf("%s: cannot be locked: %w", path, err)
		}
		return l, nil
	}
}

// current reports whether the locked file is still the one of that name.
func (l *Lock) current() bool {
	here, err := l.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(l.path)
	return err == nil && os.SameFile(here, there)
}

// sign writes who holds the lock.
func (l *Lock) sign() error {
	host, _ := os.Hostname() // "" where it is not known
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	return json.NewEncoder(l.file).Encode(Holder{os.Getpid(), host, time.Now().UTC().Truncate(time.Second)})
}

func holder(file io.Reader) (h Holder) {
	_ = json.NewDecoder(io.LimitReader(file, 1<<10)).Decode(&h) // the zero Holder stands for an unreadable file
	return h
}

// Release releases the lock and removes its file.
func (l *Lock) Release() {
	if err := os.Remove(l.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		_ = l.file.Truncate(0) // a file that stays names no process
	}
	l.file.Close()
}
