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
		Short: "Show files in a browser",
		Long: `View shows files in a browser: images and gathers, velocity models, surveys, traveltime tables.
It prints an address that this machine can open once, and answers until you interrupt it. It
reads only what is on the screen.

The wheel zooms, dragging pans, and a click in an image opens the gather there. Two arrays can
stand side by side, alternate, or lie on each other. A click also shows the profile through
the point, down or to the right, of the array, of those beside or beneath it and of the images
of other files. The page's head or p changes its direction, and the arrow keys move the point.
Files with gathers begin without a profile. In a file of lsm target the profile has a band of
one standard deviation and shows the resolution.

With a file of picks (lsm moveout) the picks lie on the image and their curves on the gathers.
Drag the end of a curve, right-click to remove a pick, shift-click in the gather to add one,
and save to the file of --output. Velocity picks (lsm semblance --csv, a name in .csv or .txt)
lie on the spectra of --spectra.

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
