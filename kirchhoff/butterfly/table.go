package butterfly

import "github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"

// costsOf are the costs by instruction set, as BenchmarkDirect and BenchmarkModel find them.
var costsOf = map[string]costs{
	simd.AVX512.String(): {
		on:     "a processor that was not recorded",
		triple: 0.25, taper: 0.35, dynamic: 1.3, more: 0.3, curve: 0.3,
		product: 1 / 160.0, weighting: 0.5 / 160, weight: 0.2, expansion: 0.18, wave: 0.3, transform: 1 / 160.0,
		lastPoint: 4.5, lastColumn: 0.07, lastSum: 0.0145,
		making: 80000, makingWeighed: 120,
	},
	simd.AVX2.String(): {
		on:     "a processor that was not recorded",
		triple: 0.9, taper: 1.1, dynamic: 1.5, more: 0.175, curve: 0.3,
		product: 1 / 70.0, weighting: 0.9 / 70, weight: 0.4, expansion: 1.1, wave: 0.9, transform: 1 / 43.0,
		lastPoint: 8, lastColumn: 1.8, lastSum: 0.036,
		making: 120000, makingWeighed: 150,
	},
	simd.Portable.String(): {
		on:     "a processor that was not recorded",
		triple: 1.4, taper: 1.5, dynamic: 1.3, more: 0.1, curve: 0.1,
		product: 1 / 25.0, weighting: 0.9 / 25, weight: 1, expansion: 1.9, wave: 1.35, transform: 1 / 15.0,
		lastPoint: 15, lastColumn: 3, lastSum: 0.075,
		making: 360000, makingWeighed: 450,
	},
}
