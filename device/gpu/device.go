package gpu

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/kirchhoff-lsm/lsm/device"
	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// Device is one card. It implements [device.Device].
type Device struct {
	context  *accel.Context
	engine   accel.Engine
	programs programs
	kernels  map[string]*accel.Function // of vector.cu
	pool     pool
	pinned   pinned
	dots     dots

	// OnMark is called by Mark; nil: nothing. It is set before the device is used.
	OnMark func(name string) (end func())
	// Clock times the card's work.
	Clock Clock

	toDevice, toHost atomic.Int64 // bytes
}

// Options say which card to use and how to compile its programs.
type Options struct {
	Engine accel.Engine // nil: the first of Engines
	Card   int          // among the visible cards, see [Choose]
	Cache  accel.Cache  // of compiled programs; the zero value keeps none
	Child  []string     // a command that compiles programs, see [accel.Driver]

	// Warn is told when carried programs take the place of those that a compiler fails to
	// make. nil: no report.
	Warn func(text string)
}

var _ device.Device = (*Device)(nil)

//go:embed vector.cu
var vectorText string

// VectorSource is the program with the kernels of this package.
func VectorSource() accel.Source { return accel.Source{Name: "vector.cu", Text: vectorText} }

// Open makes a card ready. NVRTC may be missing or fail, see [Device.Programs]. If another
// library, the card or a function is missing, the error is a missing resource and names
// it.
func Open(o Options) (*Device, error) {
	o.Engine = cmp.Or(o.Engine, Engines[0])
	drv, err := o.Engine.Open()
	if err != nil {
		return nil, fmt.Errorf("engine %v: %w", o.Engine, err)
	}
	cards, err := drv.Cards()
	if err != nil {
		return nil, fmt.Errorf("engine %v: %w", o.Engine, err)
	}
	if o.Card < 0 || o.Card >= len(cards) {
		return nil, status.Resource(fmt.Errorf("engine %v: there is no card %d: %d are visible", o.Engine, o.Card, len(cards)))
	}
	compiler, missing := drv.Compiler(o.Child)
	if missing != nil && o.Engine.Facts().Carries == "" {
		return nil, fmt.Errorf("engine %v: %w", o.Engine, missing)
	}
	context, err := drv.Use(cards[o.Card])
	if err != nil {
		return nil, fmt.Errorf("engine %v: %w", o.Engine, err)
	}
	d := &Device{context: context, engine: o.Engine, programs: programs{context: context, driver: drv, carries: o.Engine.Facts().Carries, compiler: compiler, missing: missing,
		cache: o.Cache, warn: o.Warn, modules: map[string]*accel.Module{}}}
	d.pool.context = context
	d.Clock.context, d.Clock.open = context, map[*accel.Stream]*stretch{}
	if err := d.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("engine %v: %w", o.Engine, err), context.Close())
	}
	return d, nil
}

// prepare loads the kernels.
func (d *Device) prepare() error {
	m, err := d.Build(VectorSource())
	if err != nil {
		return err
	}
	d.kernels = map[string]*accel.Function{}
	names := []string{"dots"}
	for _, k := range elementwise {
		for t, end := range suffix {
			if t != device.I64 || k.wholes {
				names = append(names, k.name+end)
			}
		}
	}
	for _, name := range names {
		if d.kernels[name], err = m.Function(name); err != nil {
			return err
		}
	}
	return nil
}

// Close waits for the card and releases it. All its buffers become invalid.
func (d *Device) Close() error { return d.context.Close() }

// Name is the engine with the card's number and model: "cuda 0 (NVIDIA H200)".
func (d *Device) Name() string {
	return fmt.Sprintf("%v %d (%s)", d.engine, d.context.Card.Index, d.context.Card.Name)
}

// Engine says whose card it is.
func (d *Device) Engine() accel.Engine { return d.engine }

// Space says whose addresses the card's are.
func (d *Device) Space() device.Space { return d.engine.Facts().Space }

// Card describes the card.
func (d *Device) Card() accel.Card { return d.context.Card }

// Context is for launching kernels of other packages. Work on buffers of this device must
// be on its main stream or follow it.
func (d *Device) Context() *accel.Context { return d.context }

// Bind makes the card's context current on the calling thread of the system, to which the
// goroutine must be locked. It implements [device.Bound].
func (d *Device) Bind() error { return d.context.Bind() }

// Programs says where the card's programs come from, and the reason if that is not its
// compiler.
func (d *Device) Programs() string { return d.programs.about() }

// Compiles reports whether there is a compiler that works, so that programs need not be carried.
func (d *Device) Compiles() bool { return d.programs.whyCarried() == nil }

// MadeBy is the version of the compiler that makes a program for this card, "" where the program
// is carried.
func (d *Device) MadeBy(src accel.Source) string {
	if d.Compiles() {
		if _, version := d.programs.compiler.Kind(); !src.Carried(d.context.Card.Arch, version) {
			return version
		}
	}
	return ""
}

// Build compiles a program for this card, or finds it in the cache, and loads it. Without
// NVRTC, or where it fails, it uses the carried PTX. The program stays loaded as long as the
// card is in use, so later calls for it return at once.
func (d *Device) Build(src accel.Source) (*accel.Module, error) { return d.programs.build(src) }

// Sync waits until the card has done all work that it was given.
func (d *Device) Sync() error { return d.context.Finish(d.context.Main()) }

// Traffic is the number of bytes copied between host and card so far, the results of Dots
// included.
func (d *Device) Traffic() (toDevice, toHost int64) { return d.toDevice.Load(), d.toHost.Load() }

// Mark lets OnMark time, by the host's clock, what the caller does until end is called.
func (d *Device) Mark(name string) (end func()) {
	if d.OnMark == nil {
		return nothing
	}
	return d.OnMark(name)
}
