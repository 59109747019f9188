package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

func mustSay(s string) *regexp.Regexp { return regexp.MustCompile(s) }

const (
	resuming     = "run config.toml --set solver.iterations=9"
	checkpoint2  = "checkpoints/out-0000002.checkpoint.h5"
	checkpoint3  = "checkpoints/out-0000003.checkpoint.h5"
	everyIterate = " --set checkpoint.iterations=1"
)

// stopped leaves a run of 9 iterations after 3, with the checkpoints of 2 and 3.
func stopped(t *testing.T) {
	t.Helper()
	if code, said := stopAfter(3, resuming+everyIterate); code != status.Checkpointed || !strings.Contains(said, checkpoint3) {
		t.Fatalf("status %d, want %d:\n%s", code, status.Checkpointed, said)
	}
}

// stopAfter runs a command whose context ends, as by a signal, while iteration
// n is reported.
func stopAfter(n int, line string) (code int, said string) {
	end := context.CancelFunc(nil)
	out := writer(func(p []byte) {
		if bytes.Contains(p, fmt.Appendf(nil, `"iteration":%d,`, n)) {
			end()
		}
	})
	var errs bytes.Buffer
	var all bytes.Buffer
	code = cli.Run(append(strings.Fields(line), "--json"), writer(func(p []byte) { all.Write(p); out(p) }), &errs, commands, func(_ *cli.App, root *cobra.Command) {
		for _, c := range root.Commands() {
			work := c.RunE
			c.RunE = func(cmd *cobra.Command, args []string) error {
				ctx, cancel := context.WithCancel(cmd.Context())
				defer cancel()
				end = cancel
				cmd.SetContext(ctx)
				return work(cmd, args)
			}
		}
	})
	return code, all.String() + errs.String()
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func badCheckpoints() []bad {
	of := func(name string, breaks func(t *testing.T), args string, code int, says string) bad {
		all := stopped
		if breaks != nil {
			all = both(stopped, breaks)
		}
		return bad{name, all, resuming + " --resume" + args, code, says}
	}
	const other = `^lsm: checkpoints/out-0000003\.checkpoint\.h5: the checkpoint belongs to another run: `
	return []bad{
		of("resumed with another damping", nil, " --set solver.damping=0.5", usageFault, other+`solver\.damping was 0\.2, is 0\.5\nhint: set it back`),
		of("resumed by another method", nil, " --set solver.method=cg", usageFault, other+`solver\.method was "?cgls"?, is "?cg"?`),
		of("resumed on another image", nil, " --set image.origin=0,0 --set image.spacing=10,10 --set image.shape=5,5", usageFault, other+`image\.origin was \[\], is \[0\.0, 0\.0\]`),
		of("resumed with other data", fixed(poke("/data", 5, 3)), "", usageFault, other+`survey file's contents was [0-9a-f]{64}, is [0-9a-f]{64}`),
		of("resumed with another model", with(modelFile, soundModel, poke("/velocity", 5, 2001)), "", usageFault, other+`velocity file's contents was`),
		of("resumed with another start model", nil, " --set solver.start=reflectivity.h5", usageFault, other+`start file's contents was none, is [0-9a-f]{64}`),
		of("both checkpoints damaged", both(cut(checkpoint3, 1000), text(checkpoint2, "")), "", inputFault,
			`^lsm: warning: checkpoints/out-0000003.* is cut short.*; trying the checkpoint before it\nlsm: checkpoints/out-0000002\.checkpoint\.h5: is empty\nhint: without --resume`),
		of("only checkpoint damaged", both(cut(checkpoint3, -1), remove(checkpoint2)), "", inputFault, `^lsm: checkpoints/out-0000003\.checkpoint\.h5: is cut short.*\nhint: without --resume`),
		of("a bit of the only checkpoint flipped", both(remove(checkpoint2), flip(checkpoint3, "/vectors/x")), "", inputFault, `^lsm: checkpoints/out-0000003\.checkpoint\.h5: /vectors/x: differs from its sha256`),
		of("an image in the checkpoint's place", both(with(checkpoint3, soundImage), remove(checkpoint2)), "", inputFault,
			`^lsm: checkpoints/out-0000003\.checkpoint\.h5: @format: is "lsm-image", want "lsm-checkpoint"`),
		of("resumed over an output", text("out.h5", "precious"), "", usageFault, `^lsm: out\.h5: already exists`),
	}
}

// A run that stopped goes on, from the checkpoint before the newest where that
// is damaged, to the bits of a run that never stopped.
func TestResume(t *testing.T) {
	quietEnvironment(t)
	sound := soundFiles(t)
	var whole string
	for _, c := range []struct {
		name   string
		breaks func(t *testing.T)
		says   string
	}{
		{"newest", nil, `^$`},
		{"newest damaged", cut(checkpoint3, -1), `^lsm: warning: checkpoints/out-0000003\.checkpoint\.h5: is cut short.*; trying the checkpoint before it\n$`},
		{"newest with a flipped bit", flip(checkpoint3, "/vectors/x"), `^lsm: warning: checkpoints/out-0000003\.checkpoint\.h5: /vectors/x: differs from its sha256.*; trying the checkpoint before it\n$`},
		{"no checkpoint", func(t *testing.T) { os.RemoveAll("checkpoints") }, `^$`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(sound.copy(t))
			stopped(t)
			if c.breaks != nil {
				c.breaks(t)
			}
			var out, errs bytes.Buffer
			if code := run(strings.Fields(resuming+" --resume"), &out, &errs); code != status.Done {
				t.Fatalf("status %d\n%s", code, &errs)
			}
			if !regexp.MustCompile(c.says).Match(errs.Bytes()) {
				t.Errorf("says %q, want %s", &errs, c.says)
			}
			if _, err := os.Stat("checkpoints"); !os.IsNotExist(err) {
				t.Errorf("checkpoints stay after success: %v", err)
			}
			if got := imageDigest(t, "out.h5"); whole == "" {
				whole = got
			} else if got != whole {
				t.Errorf("the image differs: %s, %s", got, whole)
			}
		})
	}
	t.Chdir(sound.copy(t))
	succeed(t, resuming)
	if got := imageDigest(t, "out.h5"); got != whole {
		t.Errorf("the image of a run in one piece differs: %s, %s", got, whole)
	}
}
