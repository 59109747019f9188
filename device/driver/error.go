package driver

import (
	"fmt"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Statuses that both drivers number alike.
const (
	outOfMemory = 2
	notReady    = 600
)

// Error is a call that the driver refused.
type Error struct {
	Call   string // the driver's function
	Code   int    // its status
	Name   string // the driver's name of it, such as CUDA_ERROR_OUT_OF_MEMORY
	Text   string // the driver's own words
	During string // what was being done, "" where the call says it all
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%s, status %d)", e.Call, e.Text, e.Name, e.Code)
	if e.During != "" {
		s = e.During + ": " + s
	}
	return s
}

// OutOfMemory reports whether the card had too little memory.
func (e *Error) OutOfMemory() bool { return e.Code == outOfMemory }

// resource gives an error of the driver the exit status of a missing resource.
func resource(err error) error {
	if err == nil {
		return nil
	}
	return status.Resource(err)
}
