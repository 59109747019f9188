package h5

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/io/h5/internal/h5test"
)

// Whatever a file holds, trying it ends, and says no more than what a reader would.
func TestTry(t *testing.T) {
	dir := t.TempDir()
	survey, odd := filepath.Join(dir, "s.h5"), filepath.Join(dir, "o.h5")
	if err := WriteSurvey(survey, testSurvey(), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	h5test.Write(t, odd, h5test.File{
		Datasets: []h5test.Dataset{
			{Name: "v", Type: ">i4", Shape: []int{4, 6}, Data: make([]byte, 96), Chunk: []int{2, 3}, Filters: []string{"nbit"}},
			{Name: "w", Type: "compound", Shape: []int{1}, Data: make([]byte, 8)},
			{Name: "x", Type: "S8", Shape: []int{2}, Data: make([]byte, 16)},
		},
		Loop: "loop",
	})
	for path, want := range map[string]string{
		survey: `@format: is "lsm-survey", want "lsm-tables"`, // by the reader of tables
		odd:    "/sources: is missing",                        // by that of surveys
		dir:    "is a folder",
	} {
		if err := Try(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", path, err, want)
		}
	}
}
