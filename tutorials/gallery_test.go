package tutorials

import (
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "make the pictures of docs/gallery.md anew")

const (
	galleryPage = "../docs/gallery.md"
	galleryWall = "../docs/images/gallery"

	mostBytes    = 100 << 10 // of a picture
	mostAllBytes = 1 << 20

	// Pictures agree if blocks of 4×4 points differ by at most this, root mean square, of 255. The
	// reference engine makes the same pictures as cpu; an iteration less in the thrust makes 1.7 of
	// difference, Kirchhoff's image in the place of the least-squares one 20. From one processor to
	// another loops over the velocity make 1.01, in from-segy.
	tolerance = 1.3
)

// exhibit is a section of the gallery: a picture, and what makes it in the folder that a lesson leaves.
type exhibit struct{ name, lesson, commands string }

var (
	pictured = regexp.MustCompile(`!\[[^\]]+\]\(images/gallery/([\w-]+)\.png\)`)
	taught   = regexp.MustCompile(`\]\(\.\./tutorials/([\w-]+)\)`)
	typed    = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
)

func exhibits(t *testing.T) (all []exhibit) {
	t.Helper()
	text, err := os.ReadFile(galleryPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		picture, lesson, commands := pictured.FindStringSubmatch(section), taught.FindStringSubmatch(section), typed.FindStringSubmatch(section)
		if picture == nil || lesson == nil || commands == nil {
			t.Fatalf("%s: a section lacks picture, lesson or commands:\n%s", galleryPage, section)
		}
		all = append(all, exhibit{picture[1], lesson[1], commands[1]})
	}
	return all
}

// The gallery shows all of its pictures and no others, and they are small.
func TestGallery(t *testing.T) {
	var want []string
	var sum int64
	for _, e := range exhibits(t) {
		path := filepath.Join(galleryWall, e.name+".png")
		want = append(want, path)
		if _, err := os.Stat(filepath.Join(e.lesson, "run.sh")); err != nil {
			t.Errorf("%s: %v", e.name, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Size() > mostBytes {
			t.Errorf("%s has %d bytes, want at most %d", path, info.Size(), mostBytes)
		}
		sum += info.Size()
	}
	if sum > mostAllBytes {
		t.Errorf("the pictures have %d bytes, want at most %d", sum, mostAllBytes)
	}
	if found, err := filepath.Glob(galleryWall + "/*.png"); err != nil || len(found) != len(want) {
		t.Errorf("%s: %d pictures (%v), %s shows %d", galleryWall, len(found), err, galleryPage, len(want))
	}
}

// hang makes the pictures of a lesson in the folder that it has left, and compares them with those of
// the gallery, or with -update puts them there.
func hang(t *testing.T, lesson string, env []string, out string) {
	for _, e := range exhibits(t) {
		if e.lesson != lesson {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			most := float64(tolerance)
			if strings.HasPrefix(e.commands, "lsm view ") {
				most = browserTolerance
				screenshot(t, e, env, out)
			} else {
				cmd := exec.Command("sh", "-eu", "-c", e.commands)
				cmd.Dir, cmd.Env = out, env
				if text, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s\n%s", err, e.commands, text)
				}
			}
			made, path := small(decode(t, filepath.Join(out, e.name+".png"))), filepath.Join(galleryWall, e.name+".png")
			if *update {
				encode(t, path, made)
				return
			}
			d, err := distance(made, decode(t, path))
			t.Logf("differs by %.3g of 255 from the gallery's", d)
			if err != nil || d > most {
				t.Errorf("%s is not what its commands make (%.3g of 255, %v): look at both, then make gallery", path, d, err)
			}
		})
	}
}

func decode(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return m
}

// small is a picture at half its size, in steps of 8 of each colour, which a PNG packs well.
func small(m image.Image) *image.RGBA {
	b := m.Bounds()
	s := image.NewRGBA(image.Rect(0, 0, b.Dx()/2, b.Dy()/2))
	for y := range b.Dy() / 2 {
		for x := range b.Dx() / 2 {
			c := mean(m, b.Min.X+2*x, b.Min.Y+2*y, 2)
			level := func(v float64) uint8 { return uint8(min(255, 8*math.Round(v/8))) }
			s.SetRGBA(x, y, color.RGBA{level(c[0]), level(c[1]), level(c[2]), 255})
		}
	}
	return s
}

// mean is the mean colour of n×n points from (x, y) on, red, green and blue of 255.
func mean(m image.Image, x, y, n int) (c [3]float64) {
	for dy := range n {
		for dx := range n {
			r, g, b, _ := m.At(x+dx, y+dy).RGBA()
			for k, v := range [3]uint32{r, g, b} {
				c[k] += float64(v) / 257 / float64(n*n)
			}
		}
	}
	return c
}

func encode(t *testing.T, path string, m image.Image) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	pack := png.Encoder{CompressionLevel: png.BestCompression}
	if err := pack.Encode(f, packed(m)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// packed has a palette in the place of colours if there are at most 256.
func packed(m image.Image) image.Image {
	b := m.Bounds()
	p := image.NewPaletted(b, nil)
	index := map[color.Color]uint8{}
	for y := range b.Dy() {
		for x := range b.Dx() {
			c := m.At(x, y)
			i, ok := index[c]
			if !ok {
				if len(p.Palette) == 256 {
					return m
				}
				i = uint8(len(p.Palette))
				index[c], p.Palette = i, append(p.Palette, c)
			}
			p.SetColorIndex(x, y, i)
		}
	}
	return p
}

// distance is the root mean square difference of blocks of 4×4 points, of 255.
func distance(a, b image.Image) (float64, error) {
	if a.Bounds() != b.Bounds() {
		return math.Inf(1), fmt.Errorf("sizes %v and %v", a.Bounds().Size(), b.Bounds().Size())
	}
	var sum, n float64
	for y := 0; y+4 <= a.Bounds().Dy(); y += 4 {
		for x := 0; x+4 <= a.Bounds().Dx(); x += 4 {
			p, q := mean(a, x, y, 4), mean(b, x, y, 4)
			for k := range p {
				sum, n = sum+(p[k]-q[k])*(p[k]-q[k]), n+1
			}
		}
	}
	return math.Sqrt(sum / n), nil
}
