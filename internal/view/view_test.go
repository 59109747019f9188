package view

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/grid"
	"github.com/kirchhoff-lsm/lsm/io/h5"
	"github.com/kirchhoff-lsm/lsm/survey"
)

// The files of these tests hold linear functions, which every way of reading keeps.
func imageValue(x, y, z int) float64      { return float64(x - 2*y + 3*z) }
func modelValue(x, z int) float64         { return float64(1500 + x + 2*z) }
func gatherValue(class, x, z int) float64 { return float64(100*class + x - z) }

func traceValue(trace, sample int) float64 { return float64(10*trace - sample) }

// makeSurvey writes two shots of four traces each.
func makeSurvey(t *testing.T) string {
	t.Helper()
	s := &survey.Survey{Dim: 2, NT: 30, DT: 0.01, Wavelet: survey.Wavelet{Samples: []float64{1}, DT: 0.01}, Sources: []float64{0, 0, 40, 0}}
	for i := range 8 {
		s.Receivers = append(s.Receivers, float64(10*i), 0)
		s.SourceIndex, s.ReceiverIndex = append(s.SourceIndex, int32(i/4)), append(s.ReceiverIndex, int32(i))
		for k := range s.NT {
			s.Data = append(s.Data, float32(traceValue(i, k)))
		}
	}
	path := filepath.Join(t.TempDir(), "survey.h5")
	if err := h5.WriteSurvey(path, s, h5.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// makePicks writes two picks at x = 200 m and one at 400 m.
func makePicks(t *testing.T, path string) string {
	t.Helper()
	same := func(v float64) []float64 { return []float64{v, v, v} }
	p := &h5.Picks{Limits: []float64{0, 200, 400, 1000}, Mute: 9, Shifts: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, Attrs: []h5.Attr{{Name: "note", Value: "kept"}}, Columns: h5.PickColumns{
		X: []float64{200, 200, 400}, Z: []float64{200, 350, 300}, Gamma: []float64{1.05, 0.95, 1.02}, Semblance: same(0.8), Width: same(0.1),
		Certainty: same(0.5), Slope: same(0), Far: same(800), Speed: same(2), Datum: same(0),
	}}
	if err := h5.WritePicks(path, p, h5.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// Picks of a 3-D image, whose places lie beside the section that is shown, are refused.
func TestPicksOfACubeAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "picks.h5")
	one := []float64{1}
	p := &h5.Picks{Limits: []float64{0, 200}, Mute: 9, Columns: h5.PickColumns{
		X: one, Y: one, Z: one, Gamma: one, Semblance: one, Width: one, Certainty: one, Slope: one, SlopeY: one, Far: one, Speed: one, Datum: one,
	}}
	if err := h5.WritePicks(path, p, h5.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := New([]string{makeModel(t, filepath.Join(t.TempDir(), "model.h5")), path}, Options{}); err == nil || !strings.Contains(err.Error(), "3-D") {
		t.Errorf("picks of a 3-D image: %v", err)
	}
}

// Picks are saved by the page alone, and nothing impossible is.
func TestSavingPicks(t *testing.T) {
	folder := t.TempDir()
	s := serve(t, makeModel(t, filepath.Join(folder, "model.h5")), makePicks(t, filepath.Join(folder, "picks.h5")))
	base, _, _ := strings.Cut(s.URL(), "/?")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	if answer, err := client.Get(s.URL()); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	for _, c := range []struct {
		origin, kind, body string
		code               int
		text               string
	}{
		{"", "application/json", `{"file":1,"picks":[]}`, http.StatusForbidden, "by the page"},
		{"http://evil.example", "application/json", `{"file":1,"picks":[]}`, http.StatusForbidden, "by the page"},
		{base, "text/plain", `{"file":1,"picks":[]}`, http.StatusForbidden, "by the page"},
		{base, "application/json", `{`, http.StatusBadRequest, "EOF"},
		{base, "application/json", `{"file":0,"picks":[]}`, http.StatusBadRequest, "no picks"},
		{base, "application/json", `{"file":1,"picks":[]}`, http.StatusBadRequest, "no pick is left"},
		{base, "application/json", `{"file":1,"picks":[{"like":3}]}`, http.StatusBadRequest, "picks 0 to 2"},
		{base, "application/json", `{"file":1,"picks":[{"x":1,"z":2,"gamma":9}]}`, http.StatusBadRequest, "gamma is 9"},
		{base, "application/json", `{"file":1,"picks":[{"x":1,"z":0,"gamma":1}]}`, http.StatusBadRequest, "below 0"},
		{base, "application/json", `{"file":1,"picks":[{"x":200,"z":200,"gamma":1.05}]}`, http.StatusOK, "1 pick saved"},
	} {
		r, err := http.NewRequest("POST", base+"/api/picks", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", c.kind)
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != c.code || !strings.Contains(string(text), c.text) {
			t.Errorf("%s from %q: status %d, %q, want %d and %q", c.body, c.origin, answer.StatusCode, text, c.code, c.text)
		}
	}
	if p, err := h5.ReadPicks(s.output); err != nil || p.Columns.Certainty[0] != 0.5 || !slices.Equal(p.Shifts, []float64{1, 2, 3}) {
		t.Errorf("a pick that nobody moved: %v, %v, want its own certainty and shifts", p, err)
	}
	moved, err := s.files[1].edited([]Pick{{X: 200, Z: 210, Gamma: 1.05, Like: 1}, {X: 400, Z: 300, Gamma: 1.02, Like: 2}})
	if err != nil || !slices.Equal(moved.Shifts, []float64{0, 0, 0, 7, 8, 9}) {
		t.Errorf("a pick that was moved and one that was not: %v, %v, want shifts of 0 and its own", moved, err)
	}
}

func plane(nx, nz int) grid.Grid {
	return grid.Grid{Origin: []float64{0, 0}, Spacing: []float64{10, 10}, Shape: []int{nx, nz}}
}

func makeImage(t *testing.T, path string) string {
	t.Helper()
	g := plane(60, 50)
	im := &h5.Image{Grid: g, Gathers: &h5.Gathers{Kind: "offset", Centers: []float64{100, 300, 700}}}
	w, err := h5.CreateImage(path, im, h5.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var image, gathers []float32
	for class := range 3 {
		for x := range g.Shape[0] {
			for z := range g.Shape[1] {
				if class == 0 {
					image = append(image, float32(imageValue(x, 0, z)))
				}
				gathers = append(gathers, float32(gatherValue(class, x, z)))
			}
		}
	}
	for _, err := range []error{w.WriteImage(image, 0), w.WriteGathers(gathers, 0), w.Commit()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func makeModel(t *testing.T, path string) string {
	t.Helper()
	g := plane(60, 50)
	var v []float32
	for x := range g.Shape[0] {
		for z := range g.Shape[1] {
			v = append(v, float32(modelValue(x, z)))
		}
	}
	if err := h5.WriteModel(path, g, v, h5.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return path
}

func make3D(t *testing.T) string {
	t.Helper()
	g := grid.Grid{Origin: []float64{0, 0, 0}, Spacing: []float64{10, 10, 10}, Shape: []int{7, 9, 8}}
	im := &h5.Image{Grid: g}
	for x := range g.Shape[0] {
		for y := range g.Shape[1] {
			for z := range g.Shape[2] {
				im.Data = append(im.Data, float32(imageValue(x, y, z)))
			}
		}
	}
	path := filepath.Join(t.TempDir(), "cube.h5")
	if err := h5.WriteImage(path, im, h5.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts a server for the length of the test.
func serve(t *testing.T, paths ...string) *Server {
	t.Helper()
	s, err := New(paths, Options{Output: filepath.Join(t.TempDir(), "edited.h5")})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- s.Serve(t.Context()) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.Close()
	})
	return s
}

// Samples of a linear function come out as it is, wherever the window's edges lie, finer and
// coarser than the array. Outside there is nothing.
func TestWindowOfALinearFunction(t *testing.T) {
	f, err := openFile(makeImage(t, filepath.Join(t.TempDir(), "image.h5")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	a := f.Arrays[0]
	for _, px := range []int{3, 10, 61, 256} {
		for _, transposed := range []bool{false, true} {
			w := Window{Right: 0, Down: 1, At: []int{0, 0}, From: [2]float64{100, 50}, To: [2]float64{440, 390}, Pixels: [2]int{px, px}}
			if transposed {
				w.Right, w.Down = 1, 0
			}
			v, err := a.Read(w)
			if err != nil {
				t.Fatal(err)
			}
			for j := range px {
				for i := range px {
					right, down := 10+34*(float64(i)+0.5)/float64(px), 5+34*(float64(j)+0.5)/float64(px)
					want, width := right+3*down, 34/float64(px)
					if transposed {
						want = 3*right + down
					}
					if got := float64(v[j*px+i]); math.Abs(got-want) > 1e-4+4*max(0, min(1, width-1)) {
						t.Fatalf("%d pixels, transposed %t: pixel %d, %d is %g, want %g", px, transposed, i, j, got, want)
					}
				}
			}
		}
	}
	v, err := a.Read(Window{Right: 0, Down: 1, At: []int{0, 0}, From: [2]float64{-100, 0}, To: [2]float64{100, 100}, Pixels: [2]int{2, 1}})
	if err != nil || !math.IsNaN(float64(v[0])) || math.IsNaN(float64(v[1])) {
		t.Errorf("left of the array is %v (%v), want nothing and then a number", v, err)
	}
}

// Windows beside each other show what one window over both shows.
func TestWindowsHaveNoSeams(t *testing.T) {
	f, err := openFile(makeImage(t, filepath.Join(t.TempDir(), "image.h5")))
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	read := func(from, to float64, px int) []float32 {
		v, err := f.Arrays[0].Read(Window{Right: 0, Down: 1, At: []int{0, 0}, From: [2]float64{from, 0}, To: [2]float64{to, 490}, Pixels: [2]int{px, 1}})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, px := range []int{4, 64} {
		whole, left, right := read(0, 512, 2*px), read(0, 256, px), read(256, 512, px)
		for i, v := range append(left, right...) {
			if v != whole[i] {
				t.Errorf("%d pixels: pixel %d is %g in a half and %g in the whole", px, i, v, whole[i])
			}
		}
	}
}

// Only who has the token gets in, once, and only by the server's own name.
func TestStrangersAreRefused(t *testing.T) {
	s := serve(t, makeModel(t, filepath.Join(t.TempDir(), "model.h5")))
	base, _, _ := strings.Cut(s.URL(), "?")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	friend := &http.Client{Jar: jar}
	get := func(c *http.Client, url, host string) (int, string) {
		t.Helper()
		r, err := http.NewRequest("GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		answer, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body)
	}
	refused := func(what string, c *http.Client, url, host string) {
		t.Helper()
		if code, body := get(c, url, host); code != http.StatusForbidden || strings.Contains(body, "model") {
			t.Errorf("%s: status %d and %q, want %d", what, code, body, http.StatusForbidden)
		}
	}
	refused("no token", http.DefaultClient, base+"api/files", "")
	refused("wrong token", http.DefaultClient, base+"?token=AAAA", "")
	refused("another name with the token", http.DefaultClient, s.URL(), "evil.example:80")
	url := s.URL()
	if code, body := get(friend, url, ""); code != http.StatusOK || !strings.Contains(body, "lsm view") {
		t.Fatalf("with the token: status %d and %q", code, body)
	}
	refused("the token once more", http.DefaultClient, url, "")
	refused("another name with the cookie", friend, base+"api/files", "evil.example")
	code, body := get(friend, base+"api/files", "")
	var answer struct{ Files []File }
	if err := json.Unmarshal([]byte(body), &answer); code != http.StatusOK || err != nil || len(answer.Files) != 1 || answer.Files[0].Arrays[0].Unit != "m/s" {
		t.Errorf("the list of files: status %d, %v, %s", code, err, body)
	}
	code, body = get(friend, base+"api/window?file=0&array=0&axes=0,1&at=0,0&edges=95,95,105,105&pixels=1,1", "")
	if want := float32(modelValue(10, 10)); code != http.StatusOK || len(body) != 4 || math.Float32frombits(binary.LittleEndian.Uint32([]byte(body))) != want {
		t.Errorf("a window of one pixel: status %d, %d bytes", code, len(body))
	}
	for _, q := range []string{"", "file=9&array=0", "file=0&array=-1", "axes=0,0", "axes=0,7", "at=0,99", "at=-1,0", "at=0", "edges=1,1,0,0", "edges=0,0,NaN,1",
		"edges=0,0,Inf,1", "pixels=0,1", "pixels=99999,1", "pixels=a,b"} {
		query := "file=0&array=0&axes=0,1&at=0,0&edges=95,95,105,105&pixels=1,1"
		for _, part := range strings.Split(q, "&") {
			name, _, _ := strings.Cut(part, "=")
			var kept []string
			for _, other := range strings.Split(query, "&") {
				if !strings.HasPrefix(other, name+"=") && name != "" {
					kept = append(kept, other)
				}
			}
			query = strings.Join(append(kept, part), "&")
		}
		if code, body := get(friend, base+"api/window?"+query, ""); code != http.StatusBadRequest || body == "" {
			t.Errorf("%s: status %d and %q, want %d and a reason", query, code, body, http.StatusBadRequest)
		}
	}
}
