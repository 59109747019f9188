// Command sass counts the instructions of the GPU operator's kernels in what NVIDIA's
// compilers make of them. It needs NVRTC, ptxas and nvdisasm, and no card.
//
// With -versions FILE,FILE,... it counts those of the carried programs in what several NVRTCs
// make of them, beside what ptxas makes of the carried PTX: kirchhoff/gpu/counted.txt, by which
// the program chooses.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	versions := flag.String("versions", "", "count the carried programs for these `FILES`, NVRTCs with commas between")
	flag.Parse()
	t, err := newTools(os.Getenv("LSM_TEST_NVRTC_LIB"))
	if err == nil && *versions != "" {
		err = t.compareVersions(strings.Split(*versions, ","))
	} else if err == nil {
		err = t.print()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (t *tools) print() error {
	fmt.Printf("%s\n\n%s\n", modelText, t.versions())
	for _, p := range programs() {
		rows, err := t.rows(p)
		for _, r := range rows {
			fmt.Println(r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
