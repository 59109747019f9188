package gputest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// why is the reason why this test program cannot use the emulator.
var why = "the test program does not begin with gputest.Main"

// Main runs the tests of a package on the emulator; for TestMain. With
// LSM_TEST_GPU=1 they run on the machine's own GPU instead. It returns the exit
// status.
//
// The emulator and the kernels compiled for it are kept in the user's cache
// folder, under a hash of the emulator and the compiler; all other files are
// removed at the end.
func Main(m *testing.M) int {
	if Real() {
		why = ""
		return m.Run()
	}
	if why = Missing(); why != "" {
		return m.Run()
	}
	if os.Getenv("GPUEMU_FOLDER") != "" { // a child of such a test program
		return m.Run()
	}
	temporary, err := os.MkdirTemp("", "gpuemu-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(temporary)
	folder, err := kept(temporary)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, s := range append(Environment(folder), "TMPDIR="+temporary) {
		name, value, _ := strings.Cut(s, "=")
		os.Setenv(name, value)
	}
	return m.Run()
}

// Kept builds the emulator unless it is there, and returns what a program needs in its
// environment to find it. The temporary folder is for machines without a place to
// keep it; why says what it cannot be built for, "" for nothing.
func Kept(temporary string) (environ []string, why string, err error) {
	if why := Missing(); why != "" {
		return nil, why, nil
	}
	if folder := os.Getenv("GPUEMU_FOLDER"); folder != "" {
		return Environment(folder), "", nil
	}
	folder, err := kept(temporary)
	return Environment(folder), "", err
}

// kept is the folder with the emulator, built if it is not there; the given one
// if there is no folder for caches.
func kept(temporary string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return temporary, Build(temporary)
	}
	hash, err := identity()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "lsm", "gpuemu", hash)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return temporary, Build(temporary)
	}
	// Packages are tested side by side: one builds, the others wait.
	lock, err := os.Create(filepath.Join(folder, "lock"))
	if err != nil {
		return temporary, Build(temporary)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	done := filepath.Join(folder, "built")
	if _, err := os.Stat(done); err == nil {
		return folder, nil
	}
	if err := Build(folder); err != nil {
		return "", err
	}
	return folder, os.WriteFile(done, nil, 0o644)
}

// identity is a hash of the emulator's sources, of the compiler and of the processor that
// it compiles for.
func identity() (string, error) {
	h := sha256.New()
	compiler, err := exec.Command("g++", "-march=native", "-Q", "--help=target", "--version").CombinedOutput()
	if err != nil {
		return "", err
	}
	h.Write(compiler)
	err = fs.WalkDir(sources, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		text, err := sources.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:16]), err
}

// Real says whether tests are to run on a real card.
func Real() bool { return os.Getenv("LSM_TEST_GPU") == "1" }

// Long says whether tests run in full: with LSM_TEST_LONG (make test-long) or on a real card.
func Long() bool { return os.Getenv("LSM_TEST_LONG") != "" || Real() }

// onPTX is set where cards are given programs as PTX, see ptxtest.
const onPTX = "LSM_TEST_ON_PTX"

// Part says whether a test runs case i: all of them if Long, otherwise one in compiled where kernels are
// compiled for the processor, and one in ptx where they run as PTX, which is slow. The choice is random,
// and the same each time.
func Part(i, compiled, ptx int) bool {
	if Long() {
		return true
	}
	if os.Getenv(onPTX) != "" {
		compiled = ptx
	}
	return rand.New(rand.NewPCG(uint64(i), 1)).IntN(compiled) == 0
}

// Need skips a test that has neither the emulator nor a real card.
func Need(t testing.TB) {
	t.Helper()
	if why != "" {
		t.Skip(why)
	}
}

// NeedEmulator skips a test that is about the emulator, or sets it.
func NeedEmulator(t testing.TB) {
	t.Helper()
	Need(t)
	if Real() {
		t.Skip("for the emulated GPU only")
	}
}
