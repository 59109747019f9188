package gpu

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/device/accel"
	"github.com/kirchhoff-lsm/lsm/kirchhoff"
	"github.com/kirchhoff-lsm/lsm/kirchhoff/internal/simd"
)

// The structs that both sides state, and the constants that are derived on both, are the same on both.
func TestKernelsAgree(t *testing.T) {
	all := timesText + weightText + apertureText + adjointText + forwardText
	for i := range 6 {
		fields, aperture := 1+i/2*2, i%2
		l := kirchhoff.Layout{Fields: fields, Aperture: aperture}
		receivers, window, chunk := sizes(l)
		if got := 8*window*receivers + 4*fields*groupTiles*simd.TileSize + aperture*4*receivers*tapers; got != adjointStage(l) {
			t.Errorf("a stage of the adjoint has %d bytes in the kernels, %d here", got, adjointStage(l))
		}
		if got := 4 * (blockPlaces*(chunk*fields+4) + chunk); got != forwardStage(l) {
			t.Errorf("a stage of the forward has %d bytes in the kernels, %d here", got, forwardStage(l))
		}
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
