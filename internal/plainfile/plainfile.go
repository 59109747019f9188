// Package plainfile opens input files that are plain: regular files and links to them.
// Anything else is refused before it is opened, because opening alone can wait for ever
// (a named pipe), have an effect (a device), or give other bytes the second time.
package plainfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Open opens a plain file for reading. Its errors are [*fs.PathError], with
// [Check]'s reason inside where the file is not plain.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := Check(info); err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	// What was put in its place meanwhile must not make this wait.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = Check(info)
	}
	if err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// Check says why a file is not plain; nil where it is.
func Check(info fs.FileInfo) error {
	mode := info.Mode()
	switch {
	case mode.IsDir():
		return errors.New("is a folder")
	case mode.IsRegular():
		return nil
	}
	kind := "of an unknown kind"
	switch {
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	}
	return fmt.Errorf("is not a regular file but %s", kind)
}
