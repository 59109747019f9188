package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/device/driver/ahead"
	"github.com/kirchhoff-lsm/lsm/internal/ptxas"
)

// compareVersions prints rows of the programs that are carried, for each of several NVRTCs and
// for the carried PTX.
func (t *tools) compareVersions(libraries []string) error {
	var compilers []*driver.Compiler
	for _, file := range libraries {
		if err := os.Setenv("LSM_NVRTC_LIB", file); err != nil {
			return err
		}
		k, err := driver.OpenCompiler(driver.CUDA)
		if err != nil {
			return err
		}
		k.Lines = true
		compilers = append(compilers, k)
	}
	for _, p := range programs() {
		if _, err := ahead.PTX(p.source); err != nil || len(p.models) < 2 {
			continue
		}
		for _, arch := range archs {
			if err := t.compare(p, arch, compilers); err != nil {
				return err
			}
		}
	}
	return nil
}

// compare prints the rows of a program for an architecture.
func (t *tools) compare(p program, arch string, compilers []*driver.Compiler) error {
	ptx, err := t.carrier.Compile(p.source, ahead.Arch)
	if err != nil {
		return err
	}
	var b accel.Binary
	if b.Image, b.Log, err = ptxas.Assemble(ptx.Image, arch, "-lineinfo"); err != nil {
		return err
	}
	rows, err := p.count("carried", arch, b)
	if err != nil {
		return err
	}
	for _, k := range compilers {
		b, err := k.Compile(p.source, arch)
		if err != nil {
			return err
		}
		if bytes.HasPrefix(b.Image, []byte("//")) {
			continue // this NVRTC is too old for it
		}
		more, err := p.count(k.Version, arch, b)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	for _, r := range rows {
		fmt.Println(r)
	}
	return nil
}
