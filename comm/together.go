package comm

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Together makes one rank's error everyone's. Ranks call it after each step at which one
// of them can fail alone, such as reading a file; a rank that left by itself would leave
// the others waiting in their next collective. It returns nil if no rank has an error.
// Otherwise all ranks return an *Agreed with the text, exit status and hint of the error
// of the lowest rank that has one.
func Together(c Comm, err error) error {
	if c.Size() == 1 {
		return err
	}
	type shared struct {
		Text, Hint string
		Code       int
	}
	var mine *shared
	if err != nil {
		mine = &shared{err.Error(), status.HintOf(err), status.Code(err)}
	}
	all, commErr := GatherJSON(c.Host().AllGather, mine)
	if commErr != nil {
		return errors.Join(err, commErr)
	}
	for rank, s := range all {
		switch {
		case s == nil:
		case rank == c.Rank():
			return &Agreed{rank, err}
		default:
			return &Agreed{rank, &status.Error{Code: s.Code, Err: errors.New(s.Text), Hint: s.Hint}}
		}
	}
	return nil
}

// FromFirst returns rank 0's x on all ranks. It is collective.
func FromFirst(c Comm, x []byte) ([]byte, error) {
	if c.Rank() != 0 {
		x = nil
	}
	all, err := c.Host().AllGather(x)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// GatherJSON returns the values of all ranks, indexed by rank. They travel as JSON
// through gather, the AllGather of a Host. It is collective.
func GatherJSON[T any](gather func([]byte) ([][]byte, error), mine T) ([]T, error) {
	text, err := json.Marshal(mine)
	if err != nil {
		return nil, err
	}
	texts, err := gather(text)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(texts))
	for rank, text := range texts {
		if err := json.Unmarshal(text, &all[rank]); err != nil {
			return nil, fmt.Errorf("comm: what rank %d brought: %w", rank, err)
		}
	}
	return all, nil
}

// Agreed is an error that all ranks know of, so that each may leave by itself.
type Agreed struct {
	Rank int // whose error it is
	Err  error
}

func (a *Agreed) Error() string { return a.Err.Error() }
func (a *Agreed) Unwrap() error { return a.Err }

// Any reports, on all ranks, whether any of them says yes.
func Any(c Comm, yes bool) (bool, error) {
	flags := uint64(0)
	if yes {
		flags = 1
	}
	flags, err := c.Host().Agree(flags)
	return flags != 0, err
}
