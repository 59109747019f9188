package gpu

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// constant finds the value of a constant in CUDA C++ text, of the two that depend on
// weights that for tables without them or with.
func constant(t *testing.T, text, name string, weights bool) int {
	t.Helper()
	m := regexp.MustCompile(`\b` + name + ` = (?:WEIGHTS == 0 \? (\d+) : )?(?:WEIGHTS == 2 && \(LIMITS \|\| BANDS\) \? \d+ : )?(\d+)\b`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("the kernels have no constant %s", name)
	}
	if m[1] != "" && !weights {
		m[2] = m[1]
	}
	n, err := strconv.Atoi(m[2])
	must(t, err)
	return n
}

// The constants and structs that both sides state are the same on both.
func TestKernelsAgree(t *testing.T) {
	all := timesText + weightText + apertureText + adjointText + forwardText
	for _, c := range []struct {
		text, name string
		want       int
	}{
		{all, "TILE", simd.TileSize}, {all, "CODE_BITS", simd.Bits}, {all, "BUNCH", bunch},
		{all, "GROUP", groupTiles}, {all, "THREADS", threads}, {endsText, "THREADS", threads},
		{all, "LANES", lanes}, {all, "SOURCES", blockSources}, {all, "TARGETS", blockTargets},
		{endsText, "WIDTH", narrow}, {endsText, "STEPS", steps},
	} {
		if got := constant(t, c.text, c.name, true); got != c.want {
			t.Errorf("%s is %d in the kernels, %d here", c.name, got, c.want)
		}
	}
	if got := constant(t, endsText, "WIDTH", true) * constant(t, endsText, "EACH", true); got != segment || !strings.Contains(endsText, "SEGMENT = WIDTH * EACH") {
		t.Errorf("SEGMENT is %d in the kernels, %d here", got, segment)
	}
	for i := range 6 {
		fields, aperture := 1+i/2*2, i%2
		l, weights := kirchhoff.Layout{Fields: fields, Aperture: aperture}, fields > 1
		receivers, window, chunk := sizes(l)
		for name, want := range map[string]int{"RECEIVERS": receivers, "WINDOW": window, "CHUNK": chunk} {
			if got := constant(t, all, name, weights); got != want {
				t.Errorf("%s is %d in the kernels, %d here, with %d fields", name, got, want, fields)
			}
		}
		if got := 8*window*receivers + 4*fields*groupTiles*simd.TileSize + aperture*4*receivers*tapers; got != adjointStage(l) {
			t.Errorf("a stage of the adjoint has %d bytes in the kernels, %d here", got, adjointStage(l))
		}
		if got := 4 * (blockPlaces*(chunk*fields+4) + chunk); got != forwardStage(l) {
			t.Errorf("a stage of the forward has %d bytes in the kernels, %d here", got, forwardStage(l))
		}
	}
	if n, _, _ := sizes(kirchhoff.Layout{Fields: 5, Limits: true}); !strings.Contains(all, fmt.Sprintf("RECEIVERS = WEIGHTS == 0 ? 16 : WEIGHTS == 2 && (LIMITS || BANDS) ? %d :", n)) {
		t.Errorf("RECEIVERS with limits in 3-D is not %d in the kernels", n)
	}
	for _, s := range []string{"PITCH = CHUNK * FIELDS + 4,", "STAGE = PLACES * PITCH + CHUNK,", "float2 window[RECEIVERS][WINDOW];", "unsigned word[POINTS][FIELDS][THREADS];",
		"float taper[RECEIVERS][TAPERS];", "TAPERS = APERTURE * GROUP_SIDE,", "GROUP_SIDE = 2 * SIDE,", "SIDE = APERTURE == 1 ? 8 : 4,"} {
		if !strings.Contains(all, s) {
			t.Errorf("the kernels do not say %q any more: what is derived from it must change", s)
		}
	}
	for name, v := range map[string]any{"Operator": operator{}, "Traces": traces{}, "Blocks": blocks{}, "Column": columnThere{}, "Spot": spot{}, "Visit": visit{},
		"Middle": middle{}, "Taper": kirchhoff.Taper{}, "Fade": kirchhoff.Fade{},
		"Packing": packing{}, "Stack": stack{}} {
		if got, want := fieldsHere(v), fieldsThere(t, all+packText, name); got != want {
			t.Errorf("struct %s is %s in the kernels, %s here", name, want, got)
		}
	}
}

// fieldsHere are the names of a struct's fields with their types in the kernels.
func fieldsHere(v any) string {
	var list []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		name, of := strings.ToLower(f.Name), f.Type
		for ; of.Kind() == reflect.Array; of = of.Elem() {
			name += "[]"
		}
		kind, known := map[reflect.Type]string{reflect.TypeFor[accel.Memory](): "*", reflect.TypeFor[int32](): "int", reflect.TypeFor[int64](): "i64",
			reflect.TypeFor[float32](): "float", reflect.TypeFor[float64](): "double", reflect.TypeFor[kirchhoff.Taper](): "Taper", reflect.TypeFor[kirchhoff.Fade](): "Fade"}[of]
		if !known {
			kind = of.String()
		}
		list = append(list, kind+" "+name)
	}
	return fmt.Sprint(list)
}

// fieldsThere are those of a struct of the kernels.
func fieldsThere(t *testing.T, text, name string) string {
	t.Helper()
	body := regexp.MustCompile(`(?s)\bstruct (?:__align__\(\d+\) )?` + name + ` \{(.*?)\};`).FindStringSubmatch(text)
	if body == nil {
		t.Fatalf("the kernels have no struct %s", name)
	}
	var list []string
	for _, line := range strings.Split(body[1], "\n") {
		line, _, _ = strings.Cut(line, "//")
		m := regexp.MustCompile(`(?:const \w+|(\w+)) (\*?\w+(?:\[\w+\])?(?:, \w+(?:\[\w+\])?)*);`).FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, field := range strings.Split(m[2], ", ") {
			kind, name := m[1], regexp.MustCompile(`\[\w+\]`).ReplaceAllString(field, "[]")
			if pointer, ok := strings.CutPrefix(name, "*"); ok {
				kind, name = "*", pointer
			}
			list = append(list, kind+" "+name)
		}
	}
	return fmt.Sprint(list)
}
