package h5

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// digestOf is SHA-256 of a line and the bytes after it, as docs/format.md has it.
func digestOf(line string, data []byte) string {
	sum := sha256.Sum256(append([]byte(line), data...))
	return hex.EncodeToString(sum[:])
}

// What the program writes is what the documentation says, and what reads it notices
// every number and attribute that was changed.
func TestDigestsAsDocumented(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.h5")
	s := testSurvey()
	if err := WriteSurvey(path, s, WriteOptions{Attrs: []Attr{{"version", "1"}, {"ranks", 3}}}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.Dataset("/wavelet")
	if err != nil {
		t.Fatal(err)
	}
	shape := strings.Trim(shapeText(d.shape), "[]")
	want := digestOf("/wavelet float64 "+shape+"\n", bytesOf(le, s.Wavelet.Samples)) + " float64 " + shape
	if got, err := d.Attrs().Text("sha256"); got != want {
		t.Errorf("sha256 is %q (%v), want %q", got, err, want)
	}
	var b bytes.Buffer
	b.WriteString("/wavelet\ndt float64 \n")
	b.Write(bytesOf(le, s.Wavelet.DT))
	b.WriteString("zero int64 \n")
	b.Write(bytesOf(le, int64(s.Wavelet.Zero)))
	want = digestOf("", b.Bytes()) + " dt zero"
	if got, err := d.Attrs().Text("sha256_attributes"); got != want {
		t.Errorf("sha256_attributes is %q (%v), want %q", got, err, want)
	}
	root, err := f.Attrs().Text("sha256_attributes")
	if err != nil {
		t.Fatal(err)
	}
	_, names, _ := strings.Cut(root, " ")
	if !strings.HasPrefix(names, "format format_version version ranks /coordinate /data ") {
		t.Errorf("the root's digest covers %q", names)
	}
}

// damage replaces some bytes in a file, wherever they are.
func damage(t *testing.T, path string, old, new []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, old); n < 1 {
		t.Fatalf("%q is not in %s", old, path)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(b, old, new), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDamageIsNoticedByReading(t *testing.T) {
	s := testSurvey()
	read := func(path string) error {
		_, err := ReadSurvey(path)
		return err
	}
	part := func(path string) error {
		r, err := OpenSurvey(path)
		if err != nil {
			return err
		}
		defer r.Close()
		return r.ReadTraces(make([]float32, s.NT), 0, 1)
	}
	header := func(path string) error {
		_, _, err := ReadSurveyHeader(path)
		return err
	}
	last := s.Data[len(s.Data)-1]
	for _, c := range []struct {
		name     string
		old, new []byte
		read     func(path string) error
		want     string
	}{
		{"a sample", bytesOf(le, last), bytesOf(le, last+1), read, "/data: differs from its sha256 attribute"},
		{"a sample of another trace", bytesOf(le, last), bytesOf(le, last+1), part, "/data: differs from its sha256 attribute"},
		{"a position", bytesOf(le, s.Sources), bytesOf(le, append([]float64{s.Sources[0] + 1}, s.Sources[1:]...)), header, "/sources: differs from its sha256 attribute"},
		{"dt", bytesOf(le, s.DT), bytesOf(le, s.DT*1.25), header, "attributes differ from the attribute sha256_attributes"},
		{"an attribute of the root", []byte("lsm-survey\x00"), []byte("lsm-surbey\x00"), header, "attributes differ from the attribute sha256_attributes"},
		{"t0 renamed", []byte("t0\x00\x00"), []byte("u0\x00\x00"), header, "@t0: attribute is missing"},
	} {
		path := filepath.Join(t.TempDir(), "s.h5")
		if err := WriteSurvey(path, s, WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		damage(t, path, c.old, c.new)
		wantInput(t, c.name, c.read(path), c.want)
	}
}

// The float description of a dataset is damaged, its bytes are not.
func TestDamagedType(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	w, err := Create(path, "", WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(w, "/v", []int{3}, []float64{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	// Bits 0 to 64, exponent from bit 52, 11 bits wide, and 52 of mantissa: one less.
	damage(t, path, []byte{0, 0, 64, 0, 52, 11, 0, 52}, []byte{0, 0, 64, 0, 52, 10, 0, 52})
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.Dataset("/v")
	if err != nil {
		t.Fatal(err)
	}
	v, err := Read[float64](d)
	wantInput(t, "exponent", err, "/v: differs from its sha256 attribute")
	if v[2] == 3 {
		t.Error("the damage changes nothing")
	}
}

// Digests of the program's first version are of the stored bytes alone.
func TestBareDigest(t *testing.T) {
	v := []float64{1, 2, 3}
	file := func(sum string) string {
		path := filepath.Join(t.TempDir(), "a.h5")
		d := f8("v", []int{3}, v...)
		d.Attrs = []rawAttr{text("sha256", sum)}
		writeRaw(t, path, rawFile{Datasets: []rawDataset{d}})
		return path
	}
	read := func(path string) error {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		d, err := f.Dataset("/v")
		if err != nil {
			t.Fatal(err)
		}
		_, err = Read[float32](d)
		return err
	}
	if err := read(file(digestOf("", bytesOf(le, v)))); err != nil {
		t.Errorf("sound: %v", err)
	}
	wantInput(t, "damaged", read(file(digestOf("", bytesOf(le, []float64{1, 2, 4})))), "/v: differs from its sha256")
	wantInput(t, "no digest at all", read(file("yes")), "/v: differs from its sha256")
}

// What is trusted is not compared again.
func TestTrust(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.h5")
	s := testSurvey()
	if err := WriteSurvey(path, s, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	last := s.Data[len(s.Data)-1]
	damage(t, path, bytesOf(le, last), bytesOf(le, last+1))
	r, err := OpenSurvey(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	wantInput(t, "asked for", r.Verify(), "/data: differs from its sha256 attribute")
	r.Trust()
	if err := r.ReadTraces(make([]float32, s.NT), 0, 1); err != nil {
		t.Errorf("trusted: %v", err)
	}
}

// A dataset that is gone is missed, though no reader needs it.
func TestMissingDataset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.h5")
	if err := WriteSurvey(path, testSurvey(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	damage(t, path, []byte("\x00wavelet_t\x00"), []byte("\x00wavelet_u\x00"))
	_, err := Open(path)
	wantInput(t, "renamed", err, "/wavelet_t: is missing, it was there when the file was written")
}

// External links are refused, whatever leads to them, and never followed.
func TestExternalLinks(t *testing.T) {
	dir := os.Getenv(linksEnv)
	if dir != "" { // a process of its own: one that has read a file makes no external links
		makeLinks(t, dir)
		return
	}
	dir = t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run", "^TestExternalLinks$")
	cmd.Env = append(os.Environ(), quickExit, linksEnv+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"dataset", "soft", "group"} {
		path := filepath.Join(dir, name+".h5")
		_, err := ReadSurvey(path)
		wantInput(t, name, err, "/data: lies behind an external link")
		info, err := Describe(path, DescribeOptions{Range: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, o := range info.Objects {
			if o.Min != nil && (o.Name == "/data" || o.Name == "/there") {
				t.Errorf("%s: %s is described by its target", name, o.Name)
			}
		}
	}
	// What is optional is not passed over.
	_, err = ReadImage(filepath.Join(dir, "image.h5"))
	wantInput(t, "optional", err, "/history/residual_norm: lies behind an external link, /history")
}

// makeLinks makes files with external links of every kind.
func makeLinks(t *testing.T, dir string) {
	write := func(name string, f rawFile) { writeRaw(t, filepath.Join(dir, name+".h5"), f) }
	good := rawSurvey()
	write("other", good)
	bare := good
	bare.Datasets = nil
	for _, d := range good.Datasets {
		if d.Name != "data" {
			bare.Datasets = append(bare.Datasets, d)
		}
	}
	link := func(name, path string) map[string][2]string { return map[string][2]string{name: {"other.h5", path}} }
	f := bare
	f.External = link("data", "/data")
	write("dataset", f)
	f.External, f.Soft = link("there", "/data"), map[string]string{"data": "/there"}
	write("soft", f)
	f.External, f.Soft = link("there", "/"), map[string]string{"data": "/there/data"}
	write("group", f)
	write("image", rawFile{
		Datasets: []rawDataset{with(f8("image", []int{1, 2}, 1, 2), list("origin", 0, 0), list("spacing", 1, 1))},
		External: link("history", "/"),
	})
}

// A pass over all datasets compares each once.
func TestVerifyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.h5")
	s := testSurvey()
	if err := WriteSurvey(path, s, WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Verify(); err != nil {
		t.Errorf("sound: %v", err)
	}
	f.Close()
	last := s.Data[len(s.Data)-1]
	damage(t, path, bytesOf(le, last), bytesOf(le, last+1))
	again, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Verify(); !errors.Is(err, ErrInput) || !errors.Is(err, errDigest) || !strings.Contains(err.Error(), ": /data: ") {
		t.Errorf("damaged: error %v", err)
	}
}
