package dist

import (
	"context"
	"testing"

	"github.com/kirchhoff-lsm/lsm/comm"
	"github.com/kirchhoff-lsm/lsm/device"
	"pgregory.net/rapid"
)

// drawLayout makes a layout of up to three levels on one rank.
func drawLayout(t *rapid.T, depth int) *Layout {
	if depth > 0 && rapid.Bool().Draw(t, "stack") {
		parts := make([]*Layout, rapid.IntRange(1, 3).Draw(t, "parts"))
		for i := range parts {
			parts[i] = drawLayout(t, depth-1)
		}
		return Stack(parts...)
	}
	shape := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 3).Draw(t, "shape")
	return Local(rapid.SampledFrom(types).Draw(t, "type"), shape...)
}

// again makes the same layout anew.
func again(l *Layout) *Layout {
	if l.Parts == nil {
		return Local(l.Type, l.Shape...)
	}
	parts := make([]*Layout, len(l.Parts))
	for i, p := range l.Parts {
		parts[i] = again(p)
	}
	return Stack(parts...)
}

// Equal is an equivalence that holds for layouts made alike, and vectors have
// one buffer for each leaf.
func TestLayouts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawLayout(t, 2), drawLayout(t, 2)
		if !a.Equal(a) || !a.Equal(again(a)) || !again(a).Equal(a) {
			t.Fatalf("%v is not equal to itself made anew", a)
		}
		if a.Equal(b) != b.Equal(a) {
			t.Fatalf("%v and %v are equal one way only", a, b)
		}
		if a.Equal(b) && a.String() != b.String() {
			t.Fatalf("%v and %v are equal", a, b)
		}
		v, err := NewVector(host, a)
		if err != nil {
			t.Fatal(err)
		}
		leaves, vectors := a.leaves(nil), leafVectors(v, nil)
		if len(leaves) != len(vectors) {
			t.Fatalf("%d leaves have %d buffers", len(leaves), len(vectors))
		}
		for i, l := range leaves {
			if l.Parts != nil || vectors[i].Buf.Len() != l.N || vectors[i].Buf.Type() != l.Type || vectors[i].Parts != nil {
				t.Fatalf("leaf %d of %v: buffer of %d %v", i, a, vectors[i].Buf.Len(), vectors[i].Buf.Type())
			}
		}
	})
}

// pretend is a communicator of another size or rank.
type pretend struct {
	comm.Comm
	rank, size int
}

func (p pretend) Rank() int { return p.rank }
func (p pretend) Size() int { return p.size }

// Anything that keeps two vectors from being added makes layouts differ.
func TestLayoutsDiffer(t *testing.T) {
	base := func() *Layout { return Local(device.F32, 4, 5) }
	for what, change := range map[string]func(l *Layout){
		"type":   func(l *Layout) { l.Type = device.F64 },
		"shape":  func(l *Layout) { l.Shape = []int{5, 4} },
		"axes":   func(l *Layout) { l.Shape = []int{20} },
		"offset": func(l *Layout) { l.Off = 1 },
		"share":  func(l *Layout) { l.N = 10 },
		"shards": func(l *Layout) { l.Shards = pretend{comm.Self(), 0, 2} },
		"copies": func(l *Layout) { l.Copies = pretend{comm.Self(), 0, 2} },
		"rank":   func(l *Layout) { l.Shards = pretend{comm.Self(), 1, 1} },
		"parts":  func(l *Layout) { *l = *Stack(base()) },
		"part":   func(l *Layout) { *l = *Stack(base(), base()) },
	} {
		l := base()
		change(l)
		if l.Equal(base()) || base().Equal(l) {
			t.Errorf("another %s, yet equal: %v", what, l)
		}
	}
	if Stack(base(), Local(device.F32, 1)).Equal(Stack(base(), Local(device.F32, 2))) {
		t.Error("stacks with different parts are equal")
	}
	if got := Stack(Local(device.F32, 3, 4), Local(device.F64, 2)).String(); got != "stack[float32[3 4] float64[2]]" {
		t.Errorf("written as %s", got)
	}
}

// Operators and vectors that do not fit each other are the programmer's fault.
func TestWrongLayoutsPanic(t *testing.T) {
	ctx := context.Background()
	two, three := Local(device.F64, 2), Local(device.F64, 3)
	vec := func(l *Layout) *Vector {
		v, err := NewVector(host, l)
		must(t, err)
		return v
	}
	x2, x3 := vec(two), vec(three)
	a := Lift(matrix{{1, 2, 3}, {4, 5, 6}}, three, two) // from 3 to 2
	i2, i3 := Identity(two), Identity(three)
	s := VStack(a, i3)
	sx := vec(s.Range())
	for name, f := range map[string]func(){
		"copy":              func() { _ = Copy(x2, x3) },
		"copy of a stack":   func() { _ = Copy(x3, sx) },
		"axpby":             func() { _ = Axpby(1, x2, 1, x3) },
		"multiply":          func() { _ = Multiply(x2, x3) },
		"dots":              func() { _, _ = Dots([2]*Vector{x2, x3}) },
		"no layouts":        func() { Stack() },
		"lift source":       func() { _ = a.Apply(ctx, x2, x2) },
		"lift destination":  func() { _ = a.Apply(ctx, x3, x3) },
		"lift adjoint":      func() { _ = a.ApplyAdjoint(ctx, x2, x3) },
		"lift adjoint to":   func() { _ = a.ApplyAdjoint(ctx, x2, x2) },
		"identity":          func() { _ = i2.Apply(ctx, x2, x3) },
		"diagonal":          func() { _ = Diagonal(x2).Apply(ctx, x3, x3) },
		"scale":             func() { _ = Scale(2, a).Apply(ctx, x2, x2) },
		"vstack domains":    func() { VStack(a, i2) },
		"vstack of nothing": func() { VStack() },
		"vstack to":         func() { _ = s.Apply(ctx, x2, x3) },
		"vstack from":       func() { _ = s.Apply(ctx, sx, x2) },
		"vstack adjoint":    func() { _ = s.ApplyAdjoint(ctx, x3, x2) },
		"no blocks":         func() { BlockDiag() },
		"blocks to":         func() { _ = BlockDiag(i2, i3).Apply(ctx, x2, sx) },
		"blocks adjoint":    func() { _ = BlockDiag(i2, i3).ApplyAdjoint(ctx, x2, sx) },
		"chain":             func() { Chain(a, a) },
		"chain of nothing":  func() { Chain() },
		"chain from":        func() { _ = Chain(i2, a).Apply(ctx, x2, x2) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// Shapes are copied: changing the argument does not change the layout.
func TestLayoutsOwnTheirShapes(t *testing.T) {
	shape := []int{2, 3}
	l := Local(device.F32, shape...)
	parts := []*Layout{l, l}
	s := Stack(parts...)
	shape[0], parts[0] = 9, nil
	if l.Shape[0] != 2 || l.N != 6 || s.Parts[0] != l {
		t.Errorf("layout is %v, stack %v", l, s)
	}
}
