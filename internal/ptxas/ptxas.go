// Package ptxas runs NVIDIA's assembler of PTX, for tests.
package ptxas

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Find returns the path of a tool: the value of LSM_TEST_PTXAS for ptxas, otherwise the tool on the PATH,
// otherwise the one that scripts/bootstrap.sh fetched.
func Find(tool string) string {
	if named := os.Getenv("LSM_TEST_" + strings.ToUpper(tool)); named != "" {
		return named
	}
	if found, err := exec.LookPath(tool); err == nil {
		return found
	}
	return filepath.Join(os.Getenv("HOME"), ".cache", "lsm", "ptxas", tool)
}

// Assemble makes code of PTX for a card such as sm_90. log is the output of ptxas.
func Assemble(ptx []byte, arch string) (image []byte, log string, err error) {
	err = in(ptx, func(file string) (err error) {
		out, err := exec.Command(Find("ptxas"), "-v", "-arch", arch, "-o", file+".cubin", file).CombinedOutput()
		if log = string(out); err != nil {
			return fmt.Errorf("ptxas: %w\n%s", err, out)
		}
		image, err = os.ReadFile(file + ".cubin")
		return err
	})
	return image, log, err
}

// in runs f with a file that holds data, in a temporary folder of its own.
func in(data []byte, f func(file string) error) error {
	folder, err := os.MkdirTemp("", "ptxas")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "program")
	return errors.Join(os.WriteFile(file, data, 0o600), f(file))
}

// Kernel holds the figures of a kernel that ptxas prints, or NVRTC through it: registers of a thread, and
// bytes that are spilled to local memory and read back.
type Kernel struct {
	Name                     string
	Registers, Stores, Loads int
}

var kernelLines = regexp.MustCompile(`Function properties for (\S+)\s+(?:ptxas\s+\.\s+)?\d+ bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads[^\0]*?Used (\d+) registers`)

// Kernels reads what was said with -v.
func Kernels(log string) (all []Kernel) {
	for _, m := range kernelLines.FindAllStringSubmatch(log, -1) {
		k := Kernel{Name: m[1]}
		for i, to := range []*int{&k.Stores, &k.Loads, &k.Registers} {
			*to, _ = strconv.Atoi(m[2+i])
		}
		all = append(all, k)
	}
	return all
}

var lineMark = regexp.MustCompile(`(?m)^#line 1 "(.*)"\n`)

// Sources returns the lines of the files that a program is joined of, by their names. A program
// without marks is one file of the given name.
func Sources(name, text string) map[string][]string {
	marks := lineMark.FindAllStringSubmatchIndex(text, -1)
	if marks == nil {
		return map[string][]string{name: strings.Split(text, "\n")}
	}
	all := map[string][]string{}
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		all[text[m[2]:m[3]]] = strings.Split(text[m[1]:end], "\n")
	}
	return all
}
