package inspect

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kirchhoff-lsm/lsm/cmd/lsm/internal/cli"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/view"
)

func newView(a *cli.App) *cobra.Command {
	var opt view.Options
	cmd := &cobra.Command{
		Use:   "view FILE...",
		Short: "Images, models, gathers and surveys in a browser on this machine",
		Long: `View shows files in a browser: images and their gathers, velocity models, surveys and
traveltime tables. It prints an address, which is good for one visit from this
machine, and answers until it is interrupted. Only what is on the screen is read.

The wheel zooms, dragging pans, and a click in an image opens the gather there. Two
arrays stand side by side or alternate, and one can lie beneath another. Of a file of
picks (lsm moveout) the picks lie on the image, and their curves on the gathers: drag
the end of a curve, click with the right button to take a pick out, with shift in the
gather to add one, and save them to the file of --output. Of a text of velocity picks
(lsm semblance --csv, a name in .csv or .txt) they lie on the spectra of --spectra.

A click also shows the profile through the point, down or to the right, as curves: of
the array, of others beside or beneath it and of the images of other files. Choose its
direction in the page's head or with p; files with gathers begin without one. In a file
of lsm target a band of one standard deviation to either side lies around the image's
curve, and the resolution beside it. In the profile the arrow keys move the point.

On another machine, forward a port: ssh -L 8080:127.0.0.1:8080 HOST lsm view --port 8080 FILE`,
		Example: `  lsm view image.h5
  lsm view adjoint.h5 image.h5 model.h5
  lsm view target.h5 image.h5
  lsm view image.h5 picks.h5 -o edited.h5
  lsm view spectra.h5 picks.csv -o edited.csv`,
		Annotations: cli.Exits("3", "4"),
		RunE: func(cmd *cobra.Command, files []string) error {
			if opt.Port < 0 || opt.Port > 65535 {
				return status.Usage(fmt.Errorf("view: --port %d: want 0 to 65535", opt.Port))
			}
			if opt.Output != "" {
				if err := a.CheckOutput(cli.Alike("a file", files...), opt.Output, a.Force); err != nil {
					return err
				}
			}
			opt.Force = a.Force
			s, err := view.New(files, opt)
			if err != nil {
				return err
			}
			defer s.Close()
			a.Report.Printf("open %s\n", s.URL())
			a.Report.Event("view", "url", s.URL())
			return s.Serve(cmd.Context())
		},
	}
	cmd.Flags().StringVarP(&opt.Output, "output", "o", "", "`FILE` that edited picks are saved to")
	cli.NotEmpty(cmd, "output", "a file of picks")
	cmd.Flags().IntVar(&opt.Port, "port", 0, "`port` to answer on (default: any free one)")
	return cmd
}
