package condition

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kirchhoff-lsm/lsm/internal/statics"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// DigestMark separates a file and its SHA-256 in a step.
const DigestMark = "@sha256:"

// static adds the static corrections of a table to the times of traces, and moves places to the datum that they are to.
type static struct {
	*statics.Corrections
	path, digest string
	dt           float64
}

func parseStatics(values string, s *survey.Survey) (step, error) {
	path, want, _ := strings.Cut(values, DigestMark)
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	c, text, err := statics.ReadTable(path, s)
	if err != nil {
		return nil, err
	}
	st := &static{c, path, fmt.Sprintf("%x", sha256.Sum256(text)), s.DT}
	if want != "" && want != st.digest {
		return nil, fmt.Errorf("%s is no longer the table of the step: its SHA-256 is %s, was %s", path, st.digest, want)
	}
	return st, nil
}

func (s *static) file() string { return s.path }

// text is the step with the table's digest, so that another table is not taken for it.
func (s *static) text() string { return "statics=" + s.path + DigestMark + s.digest }

func (s *static) apply(g *Gather) error {
	var m statics.Mover
	for i, n := range g.Traces {
		m.Shift(g.trace(i), s.Of(g.Survey, int(n))/s.dt)
	}
	return nil
}
