// Package library is the C library's side of include/lsm.h. guard.c holds the functions of that
// interface. They call the Go functions below unless the process was forked, since Go's scheduler
// lives in threads that a fork does not copy.
package library

/*
#cgo CFLAGS: -I${SRCDIR}/../../../../include
#include "lsm.h"
*/
import "C"

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/kirchhoff-lsm/lsm/cmd/liblsm/internal/operators"
	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/internal/status"
	"github.com/kirchhoff-lsm/lsm/internal/workers"
)

// version is set by the linker, as that of the program lsm is.
var version = "1.0.0+source"

// held are the operators by their handles. Handles are not used twice.
var held struct {
	sync.Mutex
	last C.lsm_operator
	by   map[C.lsm_operator]*operators.Operator
}

// answer runs f and returns its status, with the error's text in a buffer of the caller.
// A panic is an error like others, with the stack of where it began.
func answer(text *C.char, size C.size_t, f func() error) (code C.int) {
	defer func() {
		if r := recover(); r != nil {
			fault, stack := workers.Explain(r)
			tell(text, size, fmt.Sprintf("fault of the library: %v\n\n%s", fault, stack))
			code = C.LSM_OTHER
		}
	}()
	err := f()
	if err == nil {
		return C.LSM_DONE
	}
	message := err.Error()
	if hint := status.HintOf(err); hint != "" {
		message += " (" + hint + ")"
	}
	tell(text, size, message)
	return C.int(status.Code(err))
}

// tell writes a string with its end into a buffer, cut where it does not fit.
func tell(text *C.char, size C.size_t, s string) {
	if text == nil || size == 0 {
		return
	}
	to := unsafe.Slice((*byte)(unsafe.Pointer(text)), int(size))
	to[copy(to[:len(to)-1], s)] = 0
}

// watched calls f with a context that ends when *stop is not 0.
func watched(stop *C.int, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if stop == nil {
		return f(ctx)
	}
	flag := (*int32)(unsafe.Pointer(stop))
	if atomic.LoadInt32(flag) != 0 {
		return context.Canceled
	}
	var watching sync.WaitGroup
	defer watching.Wait() // after cancel: no goroutine reads the flag when the call is over
	defer cancel()
	watching.Add(1)
	go func() {
		defer watching.Done()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if atomic.LoadInt32(flag) != 0 {
					cancel()
				}
			}
		}
	}()
	return f(ctx)
}

func find(op C.lsm_operator) (*operators.Operator, error) {
	held.Lock()
	defer held.Unlock()
	if o := held.by[op]; o != nil {
		return o, nil
	}
	return nil, status.Usage(fmt.Errorf("%d is not the handle of an operator", op))
}

//export lsmGoVersion
func lsmGoVersion(text *C.char, size C.size_t) C.int {
	tell(text, size, version)
	return C.LSM_DONE
}

//export lsmGoCreate
func lsmGoCreate(p *C.lsm_problem, out *C.lsm_operator, stop *C.int, text *C.char, size C.size_t) C.int {
	return answer(text, size, func() error {
		s, err := spec(p)
		if err != nil {
			return err
		}
		return watched(stop, func(ctx context.Context) error {
			o, err := operators.New(ctx, s)
			if err != nil {
				return err
			}
			held.Lock()
			defer held.Unlock()
			if held.by == nil {
				held.by = map[C.lsm_operator]*operators.Operator{}
			}
			held.last++
			held.by[held.last] = o
			*out = held.last
			return nil
		})
	})
}

//export lsmGoDescribe
func lsmGoDescribe(op C.lsm_operator, text *C.char, size C.size_t) C.int {
	return answer(text, size, func() error {
		o, err := find(op)
		if err == nil {
			tell(text, size, o.Info())
		}
		return err
	})
}

//export lsmGoApply
func lsmGoApply(op C.lsm_operator, adjoint C.int, image unsafe.Pointer, points C.size_t,
	data unsafe.Pointer, samples C.size_t, stop *C.int, text *C.char, size C.size_t) C.int {
	return answer(text, size, func() error {
		o, err := find(op)
		if err != nil {
			return err
		}
		if image == nil || data == nil {
			return status.Usage(fmt.Errorf("image or data is NULL"))
		}
		m, err := device.WrapMemory(o.Host(), image, int(points), o.Type())
		if err != nil {
			return err
		}
		d, err := device.WrapMemory(o.Host(), data, int(samples), o.Type())
		if err != nil {
			return err
		}
		return watched(stop, func(ctx context.Context) error {
			if adjoint != 0 {
				return o.Adjoint(ctx, m, d)
			}
			return o.Forward(ctx, d, m)
		})
	})
}

//export lsmGoDestroy
func lsmGoDestroy(op C.lsm_operator, text *C.char, size C.size_t) C.int {
	return answer(text, size, func() error {
		o, err := find(op)
		if err != nil {
			return err
		}
		held.Lock()
		delete(held.by, op)
		held.Unlock()
		return o.Close()
	})
}
