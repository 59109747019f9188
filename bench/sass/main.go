// Command sass counts the instructions of the GPU operator's kernels in what NVIDIA's
// compilers make of them. It needs NVRTC, ptxas and nvdisasm, and no card.
package main

import (
	"fmt"
	"os"
)

func main() {
	t, err := newTools(os.Getenv("LSM_TEST_NVRTC_LIB"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%s\n\n%s\n", modelText, t.versions())
	for _, p := range programs() {
		rows, err := t.rows(p)
		for _, r := range rows {
			fmt.Println(r)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
