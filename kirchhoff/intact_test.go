package kirchhoff

import "testing"

// One bit that changes anywhere in tables that are kept is noticed.
func TestIntact(t *testing.T) {
	p := fixedSpread(t, []int{70, 40}, 10, [2]int{4, 1}, [2]int{9, 1}, 200, false)
	for name, e := range map[string]*cpu{
		"full":    newCPUEngine(t, p, Work{}),
		"classes": newCPUEngine(t, p, Work{Classes: []Class{{All: true}}}),
		"stream":  newCPUEngine(t, p, Work{Cuts: shotCuts(p, 2)}),
	} {
		t.Run(name, func(t *testing.T) {
			if err := e.Intact(); err != nil {
				t.Fatal(err)
			}
			for part, b := range map[string][]byte{
				"rows": e.tables.rows.Bytes(), "spans": e.tables.spans.Bytes(), "reach": e.tables.reach.Bytes(),
			} {
				for _, at := range []int{0, len(b) / 2, len(b) - 1} {
					b[at] ^= 0x10
					if e.Intact() == nil {
						t.Errorf("a flipped bit in byte %d of %d of the %s goes unnoticed", at, len(b), part)
					}
					b[at] ^= 0x10
				}
			}
			if err := e.Intact(); err != nil {
				t.Errorf("as before: %v", err)
			}
		})
	}
}
