// Package plainfile opens input files that are plain: regular files and links to them.
// Anything else is refused before it is opened, because opening alone can wait for ever
// (a named pipe), have an effect (a device), or give other bytes the second time.
// It also writes output files, whole or not at all.
package plainfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Open opens a plain file for reading. Its errors are [*fs.PathError], with
// the reason inside where the file is not plain.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := check(info); err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	// If another file, such as a pipe, has replaced it meanwhile, this call must not wait.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = check(info)
	}
	if err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

// Text reads a text file without the byte order mark with which some programs begin texts in UTF-8.
func Text(file io.Reader) io.Reader {
	text := bufio.NewReader(file)
	if begin, err := text.Peek(len(mark)); err == nil && string(begin) == mark {
		_, _ = text.Discard(len(mark)) // it is in the buffer
	}
	return text
}

// mark is the byte order mark in UTF-8.
const mark = "\ufeff"

// Cause takes the path off an error of the os package, for a message that has it already.
func Cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// check says why a file is not plain; nil if it is.
func check(info fs.FileInfo) error {
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

// Write publishes data at path: under a temporary name beside it first, synced, and then
// renamed, so that path holds either what it held or the whole data. Without force an
// existing file is an error that wraps [fs.ErrExist].
func Write(path string, data []byte, force bool) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	}
	folder := filepath.Dir(path)
	file, drop, err := Pending(path)
	if err != nil {
		return err
	}
	defer drop()
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return Sync(folder) // makes the rename itself durable
}

// Sync waits until the disk holds a file, or a folder's list of files.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
