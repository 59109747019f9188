package gpu

import (
	"fmt"
	"sync"

	"github.com/kirchhoff-lsm/lsm/device/accel"
)

// programs are the programs of a card. They are compiled, or taken from the embedded PTX if the
// compiler is missing, fails, or makes slower code.
type programs struct {
	context  *accel.Context
	driver   accel.Driver
	carries  string         // see accel.Facts
	compiler accel.Compiler // nil: programs are those made ahead
	cache    accel.Cache
	warn     func(text string)

	building sync.Mutex
	modules  map[string]*accel.Module // loaded so far
	missing  error                    // why there is no compiler, or what it failed to make
}

// whyCarried is why programs are carried, nil where they are compiled.
func (p *programs) whyCarried() error {
	p.building.Lock()
	defer p.building.Unlock()
	return p.missing
}

func (p *programs) about() string {
	if why := p.whyCarried(); why != nil {
		return fmt.Sprintf("programs carried as PTX for %s and finished by the driver: %v", p.carries, why)
	}
	return fmt.Sprintf("programs compiled by %v", p.compiler)
}

// build loads a program unless it is loaded.
func (p *programs) build(src accel.Source) (*accel.Module, error) {
	p.building.Lock()
	defer p.building.Unlock()
	key := fmt.Sprintf("%#v", src)
	if m := p.modules[key]; m != nil {
		return m, nil
	}
	m, err := p.load(src)
	if err == nil {
		p.modules[key] = m
	}
	return m, err
}

func (p *programs) load(src accel.Source) (*accel.Module, error) {
	if p.compiler == nil {
		return p.loadWithoutCompiler(src)
	}
	if _, version := p.compiler.Kind(); src.Carried(p.context.Card.Arch, version) {
		if m, err := p.loadCarried(src); err == nil {
			return m, nil
		} // otherwise the output of NVRTC must do
	}
	m, err := p.loadCompiled(src)
	if err == nil || p.carries == "" {
		return m, err
	}
	instead, none := p.loadCarried(src)
	if none != nil {
		return nil, err
	}
	if p.missing == nil {
		p.missing = err
		if p.warn != nil {
			p.warn(fmt.Sprintf("%v fails, and programs carried as PTX take the place of what it would make: %v", p.compiler, err))
		}
	}
	return instead, nil
}

// loadCompiled loads what the compiler makes, or what the cache has of it.
func (p *programs) loadCompiled(src accel.Source) (*accel.Module, error) {
	arch := p.context.Card.Arch
	b, cached, err := p.cache.Compile(p.compiler, src, arch, false)
	if err != nil {
		return nil, err
	}
	m, err := p.context.Load(src.Name, b.Image)
	if err != nil && cached {
		// The binary may be from the time of another driver.
		if b, _, err = p.cache.Compile(p.compiler, src, arch, true); err == nil {
			m, err = p.context.Load(src.Name, b.Image)
		}
	}
	return m, err
}

// loadCarried loads a program made ahead.
func (p *programs) loadCarried(src accel.Source) (*accel.Module, error) {
	b, err := p.driver.Carried(src)
	if err != nil {
		return nil, err
	}
	return p.context.Load(src.Name, b.Image)
}

// loadWithoutCompiler loads an embedded program, since the compiler is missing.
func (p *programs) loadWithoutCompiler(src accel.Source) (*accel.Module, error) {
	b, err := p.driver.Carried(src)
	if err != nil {
		return nil, fmt.Errorf("%w, and it cannot be compiled: %w", err, p.missing)
	}
	m, err := p.context.Load(src.Name, b.Image)
	if err != nil {
		return nil, fmt.Errorf("%w (its PTX is for %s and newer cards, this is %s; with NVRTC it would be compiled: %w)",
			err, p.carries, p.context.Card.Arch, p.missing)
	}
	return m, nil
}
