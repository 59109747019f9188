package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/kirchhoff-lsm/lsm/internal/midpoint"
	"github.com/kirchhoff-lsm/lsm/internal/readable"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/io/h5"
)

// Pick is a residual moveout as the page knows it, see [h5.PickColumns], or a velocity at the time Z.
type Pick struct {
	X     float64 `json:"x"`
	Z     float64 `json:"z"`
	Gamma float64 `json:"gamma"`
	Far   float64 `json:"far"`
	Speed float64 `json:"speed"`
	Datum float64 `json:"datum"`
	Like  int     `json:"like"` // the pick of the file that it was, or that it has the rest of

	Velocity float64 `json:"velocity,omitempty"` // m/s; 0 for a residual moveout
}

// Limits of gamma in picks by hand.
const leastGamma, greatestGamma = 0.2, 5.0

func (f *File) openPicks(path string) (err error) {
	f.picks, err = h5.ReadPicks(path)
	if err != nil {
		return err
	}
	c := f.picks.Columns
	if c.Y != nil {
		return status.Input(fmt.Errorf("%s: holds picks of a 3-D image, the page shows those of a line", path))
	}
	for i := range c.X {
		f.Picks = append(f.Picks, Pick{X: c.X[i], Z: c.Z[i], Gamma: c.Gamma[i], Far: c.Far[i], Speed: c.Speed[i], Datum: c.Datum[i], Like: i})
	}
	return nil
}

// edited are the picks of the file as the page has changed them. Values that a user has moved or
// added are certain and lie on the curve; an added pick takes its other values from another pick.
func (f *File) edited(list []Pick) (*h5.Picks, error) {
	if len(list) == 0 {
		return nil, errors.New("no pick is left")
	}
	old, out := f.picks.Columns, *f.picks
	out.Columns, out.Shifts = h5.PickColumns{}, nil
	c := &out.Columns
	for _, p := range list {
		i := p.Like
		switch {
		case i < 0 || i >= len(old.X):
			return nil, fmt.Errorf("pick %d: the file has picks 0 to %d", i, len(old.X)-1)
		case !(p.Gamma >= leastGamma && p.Gamma <= greatestGamma):
			return nil, fmt.Errorf("gamma is %g, must be from %g to %g", p.Gamma, leastGamma, greatestGamma)
		case p.X-p.X != 0 || !(p.Z > p.Datum) || p.Z-p.Z != 0:
			return nil, fmt.Errorf("a pick lies at x = %g, z = %g, must be finite and below %g", p.X, p.Z, p.Datum)
		}
		certainty, shifts := old.Certainty[i], f.picks.Shifts
		if n := len(out.Limits) - 1; shifts != nil {
			shifts = slices.Clone(shifts[i*n : (i+1)*n])
		}
		if p.X != old.X[i] || p.Z != old.Z[i] || p.Gamma != old.Gamma[i] {
			certainty = 1
			clear(shifts)
		}
		out.Shifts = append(out.Shifts, shifts...)
		c.X, c.Z, c.Gamma, c.Certainty = append(c.X, p.X), append(c.Z, p.Z), append(c.Gamma, p.Gamma), append(c.Certainty, certainty)
		c.Semblance, c.Width, c.Slope = append(c.Semblance, old.Semblance[i]), append(c.Width, old.Width[i]), append(c.Slope, old.Slope[i])
		c.Far, c.Speed, c.Datum = append(c.Far, old.Far[i]), append(c.Speed, old.Speed[i]), append(c.Datum, old.Datum[i])
	}
	attrs, err := h5.ReadAttrs(f.path)
	if err != nil {
		return nil, err
	}
	out.Attrs = slices.DeleteFunc(attrs, func(a h5.Attr) bool {
		return a.Name == "domain" || a.Name == "limits" || a.Name == "mute" || a.Name == "edited"
	})
	out.Attrs = append(out.Attrs, h5.Attr{Name: "edited", Value: "by hand, lsm view"})
	return &out, nil
}

// mostBody is how many bytes of edited picks are read.
const mostBody = 1 << 26

// save writes the picks that the page sends to the file that the user named.
func (s *Server) save(w http.ResponseWriter, r *http.Request) {
	fail := func(err error) {
		code := http.StatusBadRequest
		if status.Code(err) != status.Other {
			code = http.StatusInternalServerError
		}
		http.Error(w, err.Error(), code)
	}
	if s.output == "" {
		fail(errors.New("lsm view was started without --output: picks cannot be saved"))
		return
	}
	if origin := r.Header.Get("Origin"); origin != "http://"+r.Host || r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "picks are saved by the page of lsm view only", http.StatusForbidden)
		return
	}
	var body struct {
		File  int
		Picks []Pick
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&body); err != nil {
		fail(err)
		return
	}
	if body.File < 0 || body.File >= len(s.files) || s.files[body.File].Picks == nil {
		fail(fmt.Errorf("file %d has no picks", body.File))
		return
	}
	if err := s.files[body.File].write(s, body.Picks); err != nil {
		fail(err)
		return
	}
	fmt.Fprintf(w, "%s saved to %s", readable.Count(len(body.Picks), "pick"), s.output)
}

// write writes edited picks of a file to the server's output.
func (f *File) write(s *Server, list []Pick) (err error) {
	var write func(force bool) error
	if f.velocities != nil {
		picks, err := f.editedVelocities(list)
		if err != nil {
			return err
		}
		write = func(force bool) error { return status.Resource(midpoint.WritePicks(s.output, picks, force)) }
	} else {
		picks, err := f.edited(list)
		if err != nil {
			return err
		}
		write = func(force bool) error { return h5.WritePicks(s.output, picks, h5.WriteOptions{Force: force}) }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = write(s.force)
	s.force = s.force || err == nil // what this server has written it may write again
	return err
}
