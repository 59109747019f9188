package dist

import "context"

// Unapplied is an operator between two layouts that leaves its destinations as they are:
// it stands for one where device.Counter finds out what vectors take.
func Unapplied(domain, rng *Layout) Operator { return unapplied{domain, rng} }

type unapplied struct{ domain, rng *Layout }

func (u unapplied) Domain() *Layout                                      { return u.domain }
func (u unapplied) Range() *Layout                                       { return u.rng }
func (u unapplied) Apply(context.Context, *Vector, *Vector) error        { return nil }
func (u unapplied) ApplyAdjoint(context.Context, *Vector, *Vector) error { return nil }
