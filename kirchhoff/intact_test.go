package kirchhoff

import (
	"context"
	"testing"
)

// One bit that changes anywhere in tables that are kept is noticed.
func TestIntact(t *testing.T) {
	for name, engine := range map[string]func(p *Problem) (Keeper, *CPU, func(), error){
		"full": func(p *Problem) (Keeper, *CPU, func(), error) {
			c, err := NewCPU(context.Background(), p)
			return c, c, c.Close, err
		},
		"uint16": func(p *Problem) (Keeper, *CPU, func(), error) {
			p.Compact = true
			c, err := NewCPU(context.Background(), p)
			return c, c, c.Close, err
		},
		"classes": func(p *Problem) (Keeper, *CPU, func(), error) {
			c, err := NewClasses(context.Background(), p, []Class{{All: true}})
			return c, c.Class[0].(*CPU), c.Close, err
		},
		"stream": func(p *Problem) (Keeper, *CPU, func(), error) {
			s, err := NewStream(context.Background(), p, shotCuts(p, 2), false)
			return s, s.tables, s.Close, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, c, done, err := engine(fixedSpread(t, []int{70, 40}, 10, [2]int{4, 1}, [2]int{9, 1}, 200, false))
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			if err := k.Intact(); err != nil {
				t.Fatal(err)
			}
			for part, b := range map[string][]byte{
				"table": c.op.Table.Bytes(), "span": c.op.Span.Bytes(), "reach": c.op.Reach.Bytes(), "shift": c.op.Shift.Bytes(),
			} {
				for _, at := range []int{0, len(b) / 2, len(b) - 1} {
					if len(b) == 0 {
						continue
					}
					b[at] ^= 0x10
					if k.Intact() == nil {
						t.Errorf("a flipped bit in byte %d of %d of the %s goes unnoticed", at, len(b), part)
					}
					b[at] ^= 0x10
				}
			}
			if err := k.Intact(); err != nil {
				t.Errorf("as before: %v", err)
			}
		})
	}
}
