package migrate

import (
	"bufio"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/internal/pipeline"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

func newOperator(a *cli.App) *cobra.Command {
	folder := ""
	cmd := cli.JobCommand("operator CONFIG --exchange FOLDER", "Apply the operator for another program, such as Python",
		`Operator builds the operator of lsm run for the same configuration, with its weights, mute
and topography, and applies it for another program. Each line of the standard input is a
request; the command ends when its input ends:

  forward    read FOLDER/image, write FOLDER/data
  adjoint    read FOLDER/data, write FOLDER/image
  recorded   write the recorded traces, weighted, to FOLDER/data

Operator creates both files at its start. They hold plain numbers: the image
[nx, (ny,) nz], with gather classes as the first axis, and the traces in the order of the
survey file. With --json the event "operator" gives shapes and types, and the event "applied"
answers each request. In Python, lsm.Operator does all this.`,
		`  printf 'recorded\nadjoint\n' | lsm operator config.toml --exchange folder --json`,
		func(ctx context.Context, path string) error { return operator(ctx, a, path, folder) })
	cmd.Flags().StringVar(&folder, "exchange", "", "`FOLDER` of the files image and data")
	cli.Require(cmd, "exchange")
	cli.NotEmpty(cmd, "exchange", "a folder")
	return cmd
}

func operator(ctx context.Context, a *cli.App, path, folder string) error {
	cfg, err := a.Configure(path)
	if err != nil {
		return err
	}
	err = a.Once(func() error {
		if is, err := os.Stat(folder); err != nil || !is.IsDir() {
			return status.Usage(fmt.Errorf("--exchange %s: there is no such folder", folder))
		}
		return nil
	})
	if err != nil {
		return err
	}
	need := pipeline.NeedGeometry
	if s, err := h5.OpenSurvey(cfg.Survey.File.File); err == nil { // Open says what is wrong
		if s.HasData() {
			need = pipeline.NeedTraces
		}
		s.Close()
	}
	j, err := a.Open(cfg, need)
	if err != nil {
		return err
	}
	defer j.Close()
	op, err := j.Build(ctx)
	if err != nil {
		return err
	}
	a.Report.Infof("%s", op.Info)
	x, err := pipeline.NewExchange(j, folder)
	if err != nil {
		return err
	}
	defer x.Close()
	x.Say()
	next := requests(ctx, a)
	for {
		request, err := next()
		if err != nil || request == "" {
			return err
		}
		if err := x.Answer(ctx, request); err != nil {
			return err
		}
		a.Report.Event("applied", "request", request)
	}
}

// requests returns what brings the next line of rank 0's input to all ranks, "" at its end.
func requests(ctx context.Context, a *cli.App) func() (string, error) {
	lines := make(chan string)
	if a.First() {
		go func() {
			defer close(lines)
			for s := bufio.NewScanner(os.Stdin); s.Scan(); {
				if s.Text() != "" {
					lines <- s.Text()
				}
			}
		}()
	}
	return func() (string, error) {
		request := ""
		if a.First() {
			select {
			case request = <-lines:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		all, err := comm.GatherJSON(a.World.Host().AllGather, request)
		if err != nil {
			return "", err
		}
		return all[0], nil
	}
}
