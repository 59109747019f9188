package machine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LoaderPath lists the folders in which the dynamic loader of this system looks
// for libraries: LD_LIBRARY_PATH as given, then those of ld.so.conf under the
// root folder, then the system's own.
func LoaderPath(root, ldLibraryPath string) []string {
	folders := slices.DeleteFunc(filepath.SplitList(ldLibraryPath), func(f string) bool { return f == "" })
	folders = append(folders, configured(root, "/etc/ld.so.conf", 0)...)
	for _, f := range []string{"/lib", "/usr/lib", "/lib64", "/usr/lib64"} {
		folders = append(folders, filepath.Join(root, f))
	}
	return folders
}

// configured reads one file in the manner of ld.so.conf.
func configured(root, name string, depth int) (folders []string) {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil || depth > 8 { // a file that includes itself
		return nil
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "include" && len(f) > 1:
			pattern := f[1]
			if !filepath.IsAbs(pattern) {
				pattern = filepath.Join(filepath.Dir(name), pattern)
			}
			files, _ := filepath.Glob(filepath.Join(root, pattern)) // a bad pattern matches nothing
			for _, file := range files {
				inside, err := filepath.Rel(root, file)
				if err == nil {
					folders = append(folders, configured(root, "/"+inside, depth+1)...)
				}
			}
		case filepath.IsAbs(f[0]):
			folders = append(folders, filepath.Join(root, f[0]))
		}
	}
	return folders
}
