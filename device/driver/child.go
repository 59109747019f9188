package driver

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/internal/child"
)

// job is the task of a compiling child, and answer is its reply.
type (
	job struct {
		Engine Engine
		Source accel.Source
		Arch   string
	}
	answer struct {
		Binary accel.Binary
		Error  string
	}
)

// ServeCompile reads one program from in, compiles it and writes the binary to
// out, for the Child of a [Compiler].
func ServeCompile(in io.Reader, out io.Writer) error {
	var j job
	if err := gob.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("reading what to compile: %w", err)
	}
	var a answer
	k, err := OpenCompiler(j.Engine)
	if err == nil {
		a.Binary, err = k.compile(j.Source, j.Arch)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return gob.NewEncoder(out).Encode(a)
}

func (k *Compiler) compileInChild(src accel.Source, arch string) (accel.Binary, error) {
	var in, out, stderr bytes.Buffer
	if err := gob.NewEncoder(&in).Encode(job{k.Engine, src, arch}); err != nil {
		return accel.Binary{}, err
	}
	cmd := child.Command(context.Background(), k.Child[0], k.Child[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &stderr
	if err := cmd.Run(); err != nil {
		last := strings.TrimSpace(stderr.String())
		if i := strings.Index(last, "\n\n"); i >= 0 { // stacks of the Go runtime follow
			last = last[:i]
		}
		return accel.Binary{}, fmt.Errorf("%s ended the process: it may not know this target (%w)\n%s",
			compilerLibraries[k.Engine].What, err, last)
	}
	var a answer
	if err := gob.NewDecoder(&out).Decode(&a); err != nil {
		return accel.Binary{}, fmt.Errorf("the compiling process did not answer: %w", err)
	}
	if a.Error != "" {
		return a.Binary, errors.New(a.Error)
	}
	return a.Binary, nil
}
