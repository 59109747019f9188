package gputest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Libraries of the emulated NCCL, in the folder of the emulator.
const (
	NCCL         = "libnccl.so.2" // 2.30: everything
	RCCL         = "librccl.so.1"
	NCCLUnshared = "libnccl-unshared.so" // 2.26: ranks cannot share a card
	NCCLNoSplit  = "libnccl-nosplit.so"  // 2.16: communicators cannot be split either
	NCCLBlocking = "libnccl-blocking.so" // 2.12: every start blocks, too
)

// Functions that came late to NCCL, the latest last.
var late = []string{"ncclCommInitRankConfig", "ncclCommSplit"}

// buildNCCL links the libraries of the emulated NCCL beside libgpuemu.so.
func buildNCCL(folder string, objects []string) error {
	var group errgroup.Group
	for name, of := range map[string]struct{ version, late int }{
		NCCL: {23003, 2}, RCCL: {22203, 2}, NCCLUnshared: {22602, 2}, NCCLNoSplit: {21602, 1},
		NCCLBlocking: {21212, 0},
	} {
		group.Go(func() error {
			path := filepath.Join(folder, name)
			local := strings.Join(append([]string{"*"}, late[of.late:]...), ";")
			for file, text := range map[string]string{
				path + ".map": fmt.Sprintf("{ global: nccl*; local: %s; };\n", local),
				path + ".cpp": fmt.Sprintf("extern const int gpuemu_nccl_version = %d;\n", of.version),
			} {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					return err
				}
			}
			args := []string{"-fPIC", "-shared", "-pthread", "-o", path, path + ".cpp",
				"-Wl,--version-script=" + path + ".map", "-Wl,-rpath," + folder}
			return gpp(append(append(args, objects...), "-L"+folder, "-l:libgpuemu.so", "-lrt")...)
		})
	}
	return group.Wait()
}
