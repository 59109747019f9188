package status

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
)

func TestCode(t *testing.T) {
	plain := errors.New("plain")
	for _, c := range []struct {
		name string
		err  error
		want int
		hint string
	}{
		{"nil", nil, 0, ""},
		{"plain", plain, 1, ""},
		{"usage", Usage(plain), 2, ""},
		{"input", Input(plain), 3, ""},
		{"resource", Resource(plain), 4, ""},
		{"numerical", Numerical(plain), 5, ""},
		{"peer", Peer(plain), 6, ""},
		{"checkpoint", Checkpoint(plain), 75, ""},
		{"interrupted", context.Canceled, 130, ""},
		{"wrapped", fmt.Errorf("reading: %w", Input(plain)), 3, ""},
		{"hint outside", Hint(Input(plain), "try"), 3, "try"},
		{"hint inside", Input(Hint(plain, "try")), 3, "try"},
		{"outermost counts", Usage(fmt.Errorf("a: %w", Hint(Input(plain), "b"))), 2, "b"},
		{"hint without status", Hint(plain, "try"), 1, "try"},
		{"joined", errors.Join(plain, Input(plain)), 3, ""},
		{"canceled", fmt.Errorf("x: %w", context.Canceled), 130, ""},
		{"canceled, as input", fmt.Errorf("a: %w", Input(context.Canceled)), 130, ""},
		{"canceled, marked", Checkpoint(context.Canceled), 75, ""},
		{"disk full, marked as input", Input(&os.PathError{Op: "write", Path: "a", Err: syscall.EDQUOT}), 4, ""},
		{"disk full, marked as usage", Usage(fmt.Errorf("a: %w", syscall.EFBIG)), 4, ""},
		{"canceled, marked as input", Input(fmt.Errorf("x: %w", context.Canceled)), 130, ""},
		{"divergence on a full disk", Numerical(syscall.ENOSPC), 5, ""},
		{"disk full", &os.PathError{Op: "write", Path: "a", Err: syscall.ENOSPC}, 4, ""},
		{"files", &os.PathError{Op: "open", Path: "a", Err: syscall.EMFILE}, 4, ""},
	} {
		if got := Code(c.err); got != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got, c.want)
		}
		if got := HintOf(c.err); got != c.hint {
			t.Errorf("%s: hint %q, want %q", c.name, got, c.hint)
		}
	}
}

func TestNilStaysNil(t *testing.T) {
	for _, err := range []error{Usage(nil), Input(nil), Hint(nil, "x")} {
		if err != nil {
			t.Errorf("a mark made %v of nil", err)
		}
	}
}

func TestTextIsTheErrorsOwn(t *testing.T) {
	err := Hint(Input(errors.New("survey: no traces")), "look")
	if err.Error() != "survey: no traces" {
		t.Errorf("text is %q", err)
	}
	for _, code := range []int{Done, Other, BadUsage, BadInput, NoResource, NotNumerical, PeerLost, Checkpointed, Stopped} {
		if Meaning(code) == "" {
			t.Errorf("status %d has no meaning", code)
		}
	}
	if Meaning(7) != "" {
		t.Error("status 7 has a meaning")
	}
}
