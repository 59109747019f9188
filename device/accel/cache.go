package accel

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// Cache keeps compiled programs in a folder, each named by a hash of everything that went
// into it. A folder that cannot be read or written costs time but is never an error.
type Cache struct{ Dir string }

// UserCache is the cache in the user's cache folder. Without such a folder it keeps
// nothing.
func UserCache() Cache {
	dir, err := os.UserCacheDir()
	if err != nil {
		return Cache{}
	}
	return Cache{filepath.Join(dir, "lsm", "kernels")}
}

// Compile is Compile of k, unless the cache has the binary. cached reports whether
// it had. With anew, it replaces a binary in the cache that the driver refused.
func (c Cache) Compile(k Compiler, src Source, arch string, anew bool) (b Binary, cached bool, err error) {
	if c.Dir == "" {
		b, err = k.Compile(src, arch)
		return b, false, err
	}
	path := c.path(k, src, arch)
	if image, ok := read(path); ok && !anew {
		return Binary{Image: image}, true, nil
	}
	b, err = k.Compile(src, arch)
	if err == nil {
		write(path, b.Image)
	}
	return b, false, err
}

// path names the file: a hash of everything the binary depends on.
func (c Cache) path(k Compiler, src Source, arch string) string {
	h := sha256.New()
	engine, version := k.Kind()
	fmt.Fprintf(h, "%s %s %s %s", engine, version, arch, src.Hash())
	return filepath.Join(c.Dir, hex.EncodeToString(h.Sum(nil))+".bin")
}

// A file is the SHA-256 of the binary, then the binary. A file that was cut short or
// damaged is compiled again.
func read(path string) (image []byte, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil || len(data) < sha256.Size {
		return nil, false
	}
	sum := sha256.Sum256(data[sha256.Size:])
	return data[sha256.Size:], bytes.Equal(sum[:], data[:sha256.Size])
}

// write publishes the file atomically, so that another rank never reads half of it.
func write(path string, image []byte) {
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	sum := sha256.Sum256(image)
	// Without the file the next start compiles again, so the error is not reported.
	_ = renameio.WriteFile(path, append(sum[:], image...), 0o644)
}
