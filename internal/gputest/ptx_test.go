package gputest_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/device/driver"
	"github.com/kirchhoff-lsm/lsm/internal/gputest"
)

const ptxHead = "//\n.version 8.0\n.target sm_80\n.address_size 64\n"

// ptxRegisters is what the kernels of these tests declare, and how they begin: %rd1 is
// their buffer, %r1 the number of the thread, %rd2 where its word of the buffer is.
const ptxRegisters = `
	.reg .pred %p<10>; .reg .b16 %rs<10>; .reg .b32 %r<20>; .reg .f32 %f<10>; .reg .b64 %rd<20>; .reg .f64 %fd<10>;
	ld.param.u64 %rd1, [k_param_0];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd2, %rd1, %rd2;
`

func ptxKernel(body string) string {
	return ".visible .entry k(.param .u64 .ptr .align 8 k_param_0)\n.maxntid 128, 1, 1\n{" + ptxRegisters + body + "\n}\n"
}

// runPTX runs kernel k of PTX on a buffer of so many bytes, and returns it. report is what
// the card had to say.
func runPTX(t testing.TB, text string, shape accel.Shape, data []byte) (report string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report")
	t.Setenv("GPUEMU_REPORT", file)
	err = func() error {
		d, err := driver.CUDA.Open()
		must(t, err)
		cards, err := d.Cards()
		must(t, err)
		c, err := d.Use(cards[0])
		must(t, err)
		defer c.Close()
		m, err := c.Load("test.ptx", []byte(text))
		if err != nil {
			return err
		}
		f, err := m.Function("k")
		must(t, err)
		x, err := c.Alloc(int64(len(data)))
		must(t, err)
		p, err := c.AllocPinned(len(data))
		must(t, err)
		copy(p.Bytes, data)
		c.ToDevice(c.Main(), x, p, 0, len(data))
		c.Launch(c.Main(), f, shape, x)
		c.ToHost(c.Main(), p, 0, len(data), x)
		err = c.Finish(c.Main())
		copy(data, p.Bytes)
		return err
	}()
	said, _ := os.ReadFile(file)
	return string(said), err
}

func f32(v float32) uint64 { return uint64(math.Float32bits(v)) }
func f64(v float64) uint64 { return math.Float64bits(v) }

// hex is a float as PTX writes it.
func hex(v float32) string { return fmt.Sprintf("0f%08X", math.Float32bits(v)) }

// statements computes %r9, %rd9, %f9, %fd9 or %p9 (1 or 0) and says what that must be.
var statements = []struct {
	text string
	want uint64
}{
	{"add.s32 %r9, 2147483647, 1", 0x80000000},
	{"add.u64 %rd9, -1, 3", 2},
	{"sub.s32 %r9, 3, 5", 0xFFFFFFFE},
	{"sub.s64 %rd9, 3, 5", math.MaxUint64 - 1},
	{"mul.lo.s32 %r9, 65537, 65537", 0x20001},
	{"mul.hi.u32 %r9, 0x80000000, 6", 3},
	{"mul.hi.s32 %r9, 0x80000000, 6", 0xFFFFFFFD},
	{"mul.hi.u64 %rd9, 0x8000000000000000, 6", 3},
	{"mul.lo.s64 %rd9, -3, 5", math.MaxUint64 - 14},
	{"mul.wide.s32 %rd9, -3, 5", math.MaxUint64 - 14},
	{"mul.wide.u32 %rd9, 0xFFFFFFFF, 2", 0x1FFFFFFFE},
	{"mov.u16 %rs1, 0xFFFE; mul.wide.s16 %r9, %rs1, 3", 0xFFFFFFFA},
	{"mad.lo.s32 %r9, 3, -4, 5", 0xFFFFFFF9},
	{"mad.wide.u32 %rd9, 0xFFFFFFFF, 2, 1", 0x1FFFFFFFF},
	{"div.s32 %r9, -7, 2", 0xFFFFFFFD},
	{"div.u32 %r9, -7, 2", 0x7FFFFFFC},
	{"rem.s32 %r9, -7, 2", 0xFFFFFFFF},
	{"div.s64 %rd9, -7, 2", math.MaxUint64 - 2},
	{"rem.u64 %rd9, 17, 5", 2},
	{"abs.s32 %r9, -3", 3},
	{"neg.s32 %r9, 3", 0xFFFFFFFD},
	{"sad.u32 %r9, 3, 5, 10", 12},
	{"min.s32 %r9, -1, 1", 0xFFFFFFFF},
	{"min.u32 %r9, -1, 1", 1},
	{"max.s64 %rd9, -1, 1", 1},
	{"max.u64 %rd9, -1, 1", math.MaxUint64},
	{"add.cc.u32 %r1, -1, 1; addc.u32 %r9, 5, 6", 12},
	{"sub.cc.u32 %r1, 1, 2; subc.u32 %r9, 5, 2", 2},
	{"mad.lo.cc.u32 %r1, -1, 2, 3; madc.hi.u32 %r9, -1, 2, 0", 2},

	{"and.b32 %r9, 12, 10", 8}, {"or.b32 %r9, 12, 10", 14}, {"xor.b64 %rd9, 12, 10", 6}, {"not.b32 %r9, 1", 0xFFFFFFFE},
	{"shl.b32 %r9, 3, 31", 0x80000000}, {"shl.b32 %r9, 3, 32", 0}, {"shl.b64 %rd9, 3, 40", 3 << 40},
	{"shr.u32 %r9, -1, 28", 15}, {"shr.s32 %r9, -16, 2", 0xFFFFFFFC}, {"shr.s32 %r9, -16, 99", 0xFFFFFFFF}, {"shr.u64 %rd9, -1, 60", 15},
	{"popc.b32 %r9, 0xF0F", 8}, {"popc.b64 %r9, -1", 64}, {"clz.b32 %r9, 1", 31}, {"clz.b64 %r9, 0", 64}, {"brev.b32 %r9, 1", 0x80000000},
	{"bfe.u32 %r9, 0x12345678, 8, 12", 0x456}, {"bfe.s32 %r9, 0x12345678, 4, 4", 7}, {"bfe.s32 %r9, 0x800, 8, 4", 0xFFFFFFF8},
	{"bfi.b32 %r9, 0xAB, 0x12345678, 8, 8", 0x1234AB78}, {"bfi.b64 %rd9, 1, 0, 40, 8", 1 << 40},
	{"bfind.u32 %r9, 0x100", 8}, {"bfind.shiftamt.u32 %r9, 0x100", 23},
	{"prmt.b32 %r9, 0x33221100, 0x77665544, 0x5140", 0x55114400}, {"prmt.b32 %r9, 0x80, 0, 0x8888", 0xFFFFFFFF},
	{"lop3.b32 %r9, 0xF0F0F0F0, 0xCCCCCCCC, 0xAAAAAAAA, 0xEA", 0xEAEAEAEA}, {"lop3.b32 %r9, 12, 10, 6, 0x96", 12 ^ 10 ^ 6},
	{"shf.l.wrap.b32 %r9, 0x80000000, 1, 33", 3}, {"shf.r.wrap.b32 %r9, 2, 1, 1", 0x80000001}, {"shf.r.clamp.b32 %r9, 2, 1, 40", 1},

	{"setp.lt.s32 %p9, -1, 1", 1}, {"setp.lt.u32 %p9, -1, 1", 0}, {"setp.hi.u32 %p9, -1, 1", 1}, {"setp.ge.s64 %p9, 1, 1", 1},
	{"setp.eq.b32 %p9, 5, 5", 1}, {"setp.ne.f32 %p9, 0f7FC00000, 0f00000000", 0}, {"setp.neu.f32 %p9, 0f7FC00000, 0f00000000", 1},
	{"setp.gtu.f64 %p9, 0d7FF8000000000000, 0d0000000000000000", 1}, {"setp.num.f32 %p9, 0f7FC00000, 0f00000000", 0},
	{"setp.eq.s32 %p1, 1, 1; setp.eq.s32 %p2, 1, 2; or.pred %p9, %p1, %p2", 1},
	{"setp.eq.s32 %p1, 1, 1; not.pred %p9, %p1", 0}, {"setp.eq.s32 %p1, 1, 2; selp.b32 %r9, 7, 8, %p1", 8},
	{"setp.eq.s32 %p1, 1, 1; @%p1 mov.u32 %r9, 4", 4}, {"mov.u32 %r9, 3; setp.eq.s32 %p1, 1, 1; @!%p1 mov.u32 %r9, 4", 3},
	{"slct.b32.s32 %r9, 1, 2, -1", 2}, {"set.lt.u32.s32 %r9, -1, 1", 0xFFFFFFFF},

	{"add.rn.f32 %f9, 0f3F800000, 0f33800000", f32(1)}, {"add.rp.f32 %f9, 0f3F800000, 0f33800000", 0x3F800001},
	{"mul.rz.f32 %f9, 0f3F800001, 0f3F800001", 0x3F800002}, {"fma.rn.f32 %f9, 0f3F800001, 0f3F800001, 0fBF800002", 0x28800000},
	{"fma.rn.f64 %fd9, 0d4008000000000000, 0d4010000000000000, 0d3FF0000000000000", f64(13)},
	{"div.rn.f32 %f9, 0f3F800000, 0f40400000", f32(1. / 3)}, {"div.rn.f64 %fd9, 0d3FF0000000000000, 0d4008000000000000", f64(1. / 3)},
	{"rcp.rn.f64 %fd9, 0d4008000000000000", f64(1. / 3)}, {"sqrt.rn.f32 %f9, 0f40000000", f32(math.Sqrt2)},
	{"sqrt.rn.f64 %fd9, 0d4000000000000000", f64(math.Sqrt2)}, {"abs.f32 %f9, 0fBF800000", f32(1)}, {"neg.f64 %fd9, 0d0000000000000000", 1 << 63},
	{"min.f32 %f9, 0f7FC00000, 0f40000000", f32(2)}, {"max.f32 %f9, 0f80000000, 0f00000000", 0}, {"min.f64 %fd9, 0d8000000000000000, 0d0000000000000000", 1 << 63},
	{"copysign.f32 %f9, 0f80000000, 0f40000000", 0xC0000000}, {"testp.finite.f32 %p9, 0f7F800000", 0},

	{"cvt.s64.s32 %rd9, -2", math.MaxUint64 - 1}, {"cvt.u64.u32 %rd9, -2", 0xFFFFFFFE}, {"cvt.u32.u64 %r9, 0x123456789", 0x23456789},
	{"mov.u64 %rd3, 0x1FFFFFFFE; cvt.s64.s32 %rd9, %rd3", math.MaxUint64 - 1}, {"mov.u64 %rd3, 0x300000001; cvt.rn.f32.u32 %f9, %rd3", f32(1)},
	{"mov.u32 %r2, 0x180; cvt.s32.s8 %r9, %r2", 0xFFFFFF80}, {"cvt.rn.f32.s32 %f9, -3", 0xC0400000}, {"cvt.rn.f64.u64 %fd9, 3", f64(3)},
	{"cvt.rn.f32.u32 %f9, 0x1000001", f32(1 << 24)}, {"cvt.rp.f32.u32 %f9, 0x1000001", f32(1<<24 + 2)}, {"cvt.f64.f32 %fd9, 0f3FC00000", f64(1.5)},
	{"cvt.rn.f32.f64 %f9, 0d3FF8000000000000", f32(1.5)}, {"cvt.rzi.s32.f32 %r9, 0fC0200000", 0xFFFFFFFE}, {"cvt.rmi.s32.f32 %r9, 0fC0200000", 0xFFFFFFFD},
	{"cvt.rni.s32.f32 %r9, 0f40200000", 2}, {"cvt.rpi.f32.f32 %f9, 0f40200000", f32(3)}, {"cvt.rzi.u32.f32 %r9, 0fBF800000", 0},
	{"cvt.rzi.s32.f32 %r9, 0f7FC00000", 0}, {"cvt.rzi.s32.f64 %r9, 0d7FF0000000000000", 0x7FFFFFFF}, {"cvt.sat.f32.f32 %f9, 0f40000000", f32(1)},

	{"mov.b64 %rd9, {1, 2}", 1 | 2<<32}, {"mov.u64 %rd3, 0x200000001; mov.b64 {%r2, %r9}, %rd3", 2},
	{"mov.u16 %rs1, 5; mov.u16 %rs2, 6; mov.b32 %r9, {%rs1, %rs2}", 5 | 6<<16},
	{"mov.u32 %r2, 7; st.local.u8 [depot+3], %r2; ld.local.u8 %rs1, [depot+3]; cvt.u32.u16 %r9, %rs1", 7},
	{"mov.u64 %rd3, depot; cvta.local.u64 %rd4, %rd3; mov.u32 %r2, 8; st.u32 [%rd4+4], %r2; ld.local.u32 %r9, [depot+4]", 8},
	{"mov.u64 %rd3, table; ld.const.u32 %r9, [%rd3+4]", 0x04030201}, {"ld.global.s8 %rd9, [table+8]", math.MaxUint64},
	{"ld.global.nc.u16 %rs1, [table+4]; cvt.u32.u16 %r9, %rs1", 0x201},
	{"mov.u32 %r2, %ntid.x; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %ctaid.x; mad.lo.s32 %r9, %r2, %r3, %r4", 1},
	{"{ .param .b32 param0; st.param.f32 [param0+0], 0f40000000; .param .b32 retval0; call.uni (retval0), twice, (param0); ld.param.f32 %f9, [retval0+0]; }", f32(4)},
	{"bra.uni over; mov.u32 %r9, 2; over: mov.u32 %r9, 3", 3},
}

const ptxVariables = `
.const .align 8 .b8 table[9] = {9, 9, 9, 9, 1, 2, 3, 4, 255};
.func (.param .b32 func_retval0) twice(.param .b32 twice_param_0)
{
	.reg .f32 %f<3>;
	ld.param.f32 %f1, [twice_param_0];
	add.rn.f32 %f2, %f1, %f1;
	st.param.f32 [func_retval0+0], %f2;
	ret;
}
`

// Every statement that computes does what the manual says (NVIDIA, "Parallel Thread
// Execution ISA", chapter 9).
func TestStatements(t *testing.T) {
	gputest.NeedEmulator(t)
	var body strings.Builder
	body.WriteString(".local .align 8 .b8 depot[16];\n")
	for n, s := range statements {
		fmt.Fprintf(&body, "{ .reg .b32 %%a; .reg .b64 %%b;\n%s;\n", s.text)
		to := fmt.Sprintf("[%%rd1+%d]", 8*n)
		switch {
		case strings.Contains(s.text, "%p9"):
			fmt.Fprintf(&body, "selp.u64 %%rd9, 1, 0, %%p9; st.global.u64 %s, %%rd9; }\n", to)
		case strings.Contains(s.text, "%r9"):
			fmt.Fprintf(&body, "cvt.u64.u32 %%rd9, %%r9; st.global.u64 %s, %%rd9; }\n", to)
		case strings.Contains(s.text, "%f9"):
			fmt.Fprintf(&body, "mov.b32 %%r9, %%f9; cvt.u64.u32 %%rd9, %%r9; st.global.u64 %s, %%rd9; }\n", to)
		case strings.Contains(s.text, "%fd9"):
			fmt.Fprintf(&body, "st.global.f64 %s, %%fd9; }\n", to)
		default:
			fmt.Fprintf(&body, "st.global.u64 %s, %%rd9; }\n", to)
		}
	}
	out := make([]byte, 8*len(statements))
	if report, err := runPTX(t, ptxHead+ptxVariables+ptxKernel(body.String()), accel.Line(1, 1), out); err != nil {
		t.Fatalf("%v\n%s", err, report)
	}
	for n, s := range statements {
		if got := binary.LittleEndian.Uint64(out[8*n:]); got != s.want {
			t.Errorf("%s gives %#x, want %#x", s.text, got, s.want)
		}
	}
}

// What approximate functions give is near, always the same for an operand, and not
// always the nearest number.
func TestApproximations(t *testing.T) {
	gputest.NeedEmulator(t)
	for name, c := range map[string]struct {
		f     func(x float64) float64
		error float64 // of NVIDIA's table: relative, of sin and cos absolute
	}{
		"rsqrt.approx.f32":   {func(x float64) float64 { return 1 / math.Sqrt(x) }, 0x1p-22},
		"rcp.approx.f32":     {func(x float64) float64 { return 1 / x }, 0x1p-22},
		"sqrt.approx.f32":    {math.Sqrt, 0x1p-22},
		"ex2.approx.ftz.f32": {math.Exp2, 0x1p-21},
		"lg2.approx.f32":     {math.Log2, 0x1p-20},
		"sin.approx.f32":     {math.Sin, 0x1p-20},
		"cos.approx.f32":     {math.Cos, 0x1p-20},
	} {
		var body strings.Builder
		const n = 200
		for k := range n {
			fmt.Fprintf(&body, "mov.f32 %%f1, %s; %s %%f2, %%f1; st.global.f32 [%%rd1+%d], %%f2;\n", hex(1+float32(k%(n/2))/n), name, 4*k)
		}
		out := make([]byte, 4*n)
		_, err := runPTX(t, ptxHead+ptxKernel(body.String()), accel.Line(1, 1), out)
		must(t, err)
		at := func(k int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(out[4*k:])) }
		off := 0
		for k := range n / 2 {
			want := c.f(float64(1 + float32(k)/n))
			if diff := math.Abs(float64(at(k)) - want); diff > c.error*math.Max(1, want) || at(k) != at(k+n/2) {
				t.Errorf("%s: %g and %g, want %g", name, at(k), at(k+n/2), want)
			}
			if at(k) != float32(want) {
				off++
			}
		}
		if off < n/10 {
			t.Errorf("%s is exact in all but %d of %d cases", name, off, n/2)
		}
	}
}

// Threads of a warp vote, exchange values and come together after branches; threads of a
// block vote at barriers.
func TestTogether(t *testing.T) {
	gputest.NeedEmulator(t)
	const threads = 64
	for body, want := range map[string]func(i int) int{
		"setp.eq.s32 %p1, %r1, 40; vote.sync.ballot.b32 %r9, %p1, -1;":                                                 func(i int) int { return i / 32 << 8 },
		"setp.lt.s32 %p1, %r1, 33; vote.sync.all.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2;":                          func(i int) int { return 1 - i/32 },
		"setp.eq.s32 %p1, %r1, 33; vote.sync.any.pred %p2, %p1, -1; selp.u32 %r9, 1, 0, %p2;":                          func(i int) int { return i / 32 },
		"setp.eq.s32 %p1, %r1, 33; bar.red.or.pred %p2, 0, %p1; selp.u32 %r9, 1, 0, %p2;":                              func(int) int { return 1 },
		"setp.eq.s32 %p1, %r1, 33; bar.red.and.pred %p2, 0, !%p1; selp.u32 %r9, 1, 0, %p2;":                            func(int) int { return 0 },
		"setp.lt.s32 %p1, %r1, 37; bar.red.popc.u32 %r9, 0, %p1;":                                                      func(int) int { return 37 },
		"shfl.sync.idx.b32 %r9|%p1, %r1, 3, 31, -1;":                                                                   func(i int) int { return i/32*32 + 3 },
		"shfl.sync.down.b32 %r9|%p1, %r1, 1, 31, -1;":                                                                  func(i int) int { return min(i+1, i/32*32+31) },
		"shfl.sync.up.b32 %r9|%p1, %r1, 2, 0, -1; @!%p1 mov.u32 %r9, 99;":                                              func(i int) int { return map[bool]int{true: 99, false: i - 2}[i%32 < 2] },
		"shfl.sync.bfly.b32 %r9|%p1, %r1, 1, 31, -1;":                                                                  func(i int) int { return i ^ 1 },
		"shfl.sync.idx.b32 %r9|%p1, %r1, 1, 0x181f, -1;":                                                               func(i int) int { return i/8*8 + 1 }, // parts of 8
		"redux.sync.add.s32 %r9, %r1, -1;":                                                                             func(i int) int { return 496 + i/32*1024 },
		"setp.lt.s32 %p1, %r1, 5; @%p1 bra L; mov.u32 %r9, 1; bra.uni M; L: mov.u32 %r9, 2; M: add.s32 %r9, %r9, %r1;": func(i int) int { return i + 1 + map[bool]int{true: 1}[i < 5] },
		// Lanes that come to a vote by two ways wait for each other.
		"setp.lt.s32 %p1, %r1, 5; mov.u32 %r9, 0; @%p1 bra L; mov.u32 %r9, 1; L: setp.eq.s32 %p2, %r9, 1; vote.sync.ballot.b32 %r9, %p2, -1; and.b32 %r9, %r9, 0xFF;": func(i int) int {
			return map[bool]int{true: 0xE0, false: 0xFF}[i < 32]
		},
		"mov.u32 %r9, 0; L: add.s32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, %r1; @%p1 bra L;":                      func(i int) int { return max(i, 1) },
		"atom.shared.add.u32 %r2, [s], %r1; bar.sync 0; ld.shared.u32 %r9, [s]; sub.s32 %r9, %r9, -1;":        func(int) int { return threads * (threads - 1) / 2 },
		"atom.shared.max.s32 %r2, [s], %r1; bar.sync 0; ld.shared.u32 %r9, [s];":                              func(int) int { return threads - 1 },
		"atom.shared.cas.b32 %r2, [s], -1, 5; red.shared.add.u32 [s], 1; bar.sync 0; ld.shared.u32 %r9, [s];": func(int) int { return 5 + threads },
	} {
		out := make([]byte, 4*threads)
		text := ptxHead + ptxKernel(".shared .align 4 .u32 s;\n"+body+"\nst.global.u32 [%rd2], %r9;")
		if report, err := runPTX(t, text, accel.Line(1, threads), out); err != nil {
			t.Errorf("%s: %v\n%s", body, err, report)
			continue
		}
		for i := range threads {
			if got := int(int32(binary.LittleEndian.Uint32(out[4*i:]))); got != want(i) {
				t.Errorf("%s: thread %d has %d, want %d", body, i, got, want(i))
			}
		}
	}
}

// What goes wrong is reported, in words that say where and what; what is right is not.
func TestFaultsOfPTX(t *testing.T) {
	gputest.NeedEmulator(t)
	// Of 64 threads, each has a word of shared memory at %r2, its neighbour's at %r3.
	const neighbours = ".shared .align 16 .b8 s[1024];\nshl.b32 %r2, %r1, 2; xor.b32 %r3, %r2, 4;\n"
	const wide = "shl.b32 %r4, %r1, 4; mul.wide.u32 %rd3, %r1, 16; add.s64 %rd3, %rd1, %rd3; xor.b32 %r5, %r4, 16;\n"
	for body, want := range map[string]string{
		"ld.global.u32 %r9, [%rd1+4096];":                                                    "at byte 4096 of an allocation of 4096",
		"st.global.u32 [%rd1+-4], %r1;":                                                      "lies in no allocation",
		"ld.global.u32 %r9, [%rd1+2];":                                                       "not aligned to 4",
		"mov.u64 %rd3, 0; ld.u32 %r9, [%rd3];":                                               "address 0 lies in no allocation",
		".shared .align 4 .b8 other[32]; st.shared.u32 [s+1024], %r1;":                       "touches what lies behind a shared variable",
		"st.shared.u32 [s+2048], %r1;":                                                       "shared address 2048 lies beyond the block's 1088 bytes",
		"ld.shared.v2.u32 {%r9, %r10}, [s+4];":                                               "not aligned to 8",
		"st.shared.u32 [%r2], %r1; ld.shared.u32 %r9, [%r3];":                                "race: reads what thread",
		"st.shared.u32 [%r2], %r1; bar.sync 0; ld.shared.u32 %r9, [%r3];":                    "",
		"ld.shared.u32 %r9, [%r3]; st.shared.u32 [%r2], %r1;":                                "race: writes what thread 1 read",
		"ld.shared.u32 %r9, [s]; st.shared.u32 [s], %r1;":                                    "race: writes what thread 31 read",
		"st.shared.u32 [s], %r1;":                                                            "race: writes what thread 0 wrote",
		"st.shared.u8 [%r1], %r1; bar.sync 0; ld.shared.u32 %r9, [%r2];":                     "",
		"st.shared.u8 [%r1], %r1; ld.shared.u32 %r9, [s];":                                   "race: reads what thread",
		"atom.shared.add.u32 %r9, [s], 1;":                                                   "",
		"atom.shared.add.u32 %r9, [s], 1; ld.shared.u32 %r9, [s];":                           "race: reads what thread",
		"st.global.u32 [%rd1], %r1;":                                                         "race: writes what thread 0 wrote",
		"red.global.add.u32 [%rd1], 1;":                                                      "",
		"setp.lt.s32 %p1, %r1, 5; @%p1 bra L; bar.sync 0; L: ret;":                           "barrier that others of its block do not reach",
		"setp.lt.s32 %p1, %r1, 5; @%p1 bra L; bar.sync 0; bra.uni M; L: bar.sync 0; M: ret;": "barrier that others of its block do not reach",
		"L: bra.uni L;":                   "takes more than 100000 steps",
		"trap;":                           "a trap",
		"vote.sync.any.pred %p1, %p1, 1;": "not among the lanes",
		"setp.lt.s32 %p1, %r1, 5; @%p1 bra L; setp.eq.s32 %p2, %r1, 40; vote.sync.any.pred %p3, %p2, 0xFF; L: vote.sync.any.pred %p3, %p1, 0x1F;": "not among the lanes",

		wide + "cp.async.cg.shared.global [%r4], [%rd3], 16; ld.shared.u32 %r9, [%r4];":                                                                      "a copy writes that was not waited for",
		wide + "cp.async.cg.shared.global [%r4], [%rd3], 16; cp.async.wait_all; ld.shared.u32 %r9, [%r4];":                                                   "",
		wide + "cp.async.cg.shared.global [%r4], [%rd3], 16; cp.async.wait_all; ld.shared.u32 %r9, [%r5];":                                                   "race: reads what thread",
		wide + "cp.async.cg.shared.global [%r4], [%rd3], 16; cp.async.wait_all; bar.sync 0; ld.shared.u32 %r9, [%r5];":                                       "",
		wide + "cp.async.cg.shared.global [%r4], [%rd3], 16; cp.async.wait_group 0; ld.shared.u32 %r9, [%r4];":                                               "a copy writes that was not waited for", // not committed
		wide + "cp.async.cg.shared.global [%r4], [%rd3], 16; cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r9, [%r4];":                        "a copy writes that was not waited for",
		wide + "cp.async.cg.shared.global [%r4], [%rd3], 16; cp.async.commit_group; cp.async.wait_group 0; ld.shared.u32 %r9, [%r4];":                        "",
		wide + "cp.async.cg.shared.global [%r4], [%rd3], 16; cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1; ld.shared.u32 %r9, [%r4];": "",
		wide + "cp.async.ca.shared.global [%r4], [%rd3+4], 8;":                                                                                               "not aligned to its 8 bytes",
		wide + "cp.async.ca.shared.global [%r4], [%rd1+4092], 4, 0; cp.async.wait_all;":                                                                      "",
		wide + "cp.async.ca.shared.global [%r4], [%rd1+4096], 4, 0; cp.async.wait_all;":                                                                      "",
		wide + "cp.async.ca.shared.global [%r4], [%rd1+4096], 4; cp.async.wait_all;":                                                                         "of an allocation of 4096",
	} {
		t.Setenv("GPUEMU_STEPS", "100000")
		report, err := runPTX(t, ptxHead+ptxKernel(neighbours+body), accel.Line(1, 64), make([]byte, 4096))
		if (err == nil) != (want == "") || !strings.Contains(report, want) {
			t.Errorf("%s: %v\n%s want %q", body, err, report, want)
		}
	}
}

// Blocks of a launch must not use what others write, unless a fence and an atomic publish
// it, and an atomic and a fence receive it.
func TestFences(t *testing.T) {
	gputest.NeedEmulator(t)
	// Each block writes a word; the one that counts last reads all.
	body := func(before, after string) string {
		return `mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %rd1, %rd3; st.global.u32 [%rd3+16], %r2;
` + before + `
atom.global.add.u32 %r3, [%rd1], 1; setp.ne.s32 %p1, %r3, 3; @%p1 bra L;
` + after + `
ld.global.u32 %r4, [%rd1+16]; ld.global.u32 %r5, [%rd1+20]; ld.global.u32 %r6, [%rd1+24]; ld.global.u32 %r7, [%rd1+28];
st.global.u32 [%rd1], 0;
L: ret;`
	}
	for _, c := range []struct{ before, after, want string }{
		{"membar.gl;", "membar.gl;", ""},
		{"", "membar.gl;", "race: reads what thread 0 of another block wrote"},
		{"membar.gl;", "", "race: reads what thread 0 of another block wrote"},
	} {
		report, err := runPTX(t, ptxHead+ptxKernel(body(c.before, c.after)), accel.Line(4, 1), make([]byte, 64))
		if (err == nil) != (c.want == "") || !strings.Contains(report, c.want) {
			t.Errorf("%q, %q: %v\n%s", c.before, c.after, err, report)
		}
	}
}

// Registers, local and shared memory that nobody wrote are NaN, in every block.
func TestUnsetIsNaN(t *testing.T) {
	gputest.NeedEmulator(t)
	for _, body := range []string{
		"setp.eq.s32 %p1, %r1, 0; mov.u32 %r2, %ctaid.x; @%p1 bra L; mov.u32 %r9, 1; L: ",
		".shared .align 4 .u32 s; ld.shared.u32 %r9, [s]; bar.sync 0; st.shared.u32 [s], 1;",
		".local .align 4 .b8 l[4]; ld.local.u32 %r9, [l]; st.local.u32 [l], 1;",
	} {
		out := make([]byte, 64)
		text := ptxHead + ptxKernel(body+" mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd3, %r2, 4; add.s64 %rd3, %rd3, %rd1; st.global.u32 [%rd3], %r9; mov.u32 %r9, 1;")
		if report, err := runPTX(t, text, accel.Line(3, 1), out); err != nil {
			t.Errorf("%s: %v\n%s", body, err, report)
		}
		for b := range 3 {
			if got := binary.LittleEndian.Uint32(out[4*b:]); got != 0xFFFFFFFF {
				t.Errorf("%s: block %d finds %#x", body, b, got)
			}
		}
	}
}

// PTX that the executor cannot run is refused when it is loaded, with its line.
func TestRefusedPTX(t *testing.T) {
	gputest.NeedEmulator(t)
	for body, want := range map[string]string{
		"frobnicate.f32 %f1, %f2;":                    "line 13 of PTX: the executor has no instruction frobnicate.f32",
		"add.f32 %f1, %f2, %f3;":                      "no instruction add.f32", // which may be fused
		"add.s32 %r1, %rd1, 2;":                       "%rd1 has another width",
		"mov.u32 %r1, nothing;":                       "nothing is called nothing",
		"bra nowhere;":                                "no label nowhere",
		"ld.global.v4.u32 {%r1, %r2}, [%rd1];":        "another number of values",
		"cp.async.cg.shared.global [%r1], [%rd1], 8;": "no copy of so many bytes",
		"add.s32 %r1, %r2":                            "",
	} {
		report, err := runPTX(t, ptxHead+ptxKernel(body), accel.Line(1, 1), make([]byte, 64))
		if err == nil || !strings.Contains(err.Error(), "INVALID_PTX") || !strings.Contains(report, want) {
			t.Errorf("%s: %v\n%s want %q", body, err, report, want)
		}
	}
}
