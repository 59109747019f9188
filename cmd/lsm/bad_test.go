package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kirchhoff-lsm/lsm/internal/status"
)

// bad is one way to give the program something that it must refuse, and what it
// must then say.
type bad struct {
	name   string
	breaks func(t *testing.T) // spoils the files in the current folder; nil for none
	args   string             // command lines, separated by ";"; "" for those that read traces
	code   int
	says   string // regular expression over what goes to the standard error
}

// readers are the commands that walk the whole way from the survey to the data.
const readers = "run config.toml; migrate config.toml; check config.toml"

// TestBadInputs runs every case in a fresh folder of sound files, which one
// thing has spoilt. Whatever the case, the program must end with the right
// status, name the thing in one line without a word of its own inside, say the
// same as JSON, leave nothing behind and change nothing.
func TestBadInputs(t *testing.T) {
	quietEnvironment(t)
	sound := soundFiles(t)
	count := 0
	for _, group := range [][]bad{
		badSurveys(), badTraces(), badWavelets(), badGeometries(), badModels(), badTables(), badImages(),
		badConfigurations(), badCommandLines(), badOutputs(), badResources(), badNumbers(), badCheckpoints(), badDigests(),
	} {
		for _, c := range group {
			count++
			t.Run(c.name, func(t *testing.T) {
				t.Chdir(sound.copy(t))
				if c.breaks != nil {
					c.breaks(t)
				}
				lines := c.args
				if lines == "" {
					lines = readers
				}
				for _, line := range strings.Split(lines, ";") {
					refuse(t, strings.Fields(line), c.code, mustSay(c.says))
				}
			})
		}
	}
	t.Logf("%d bad inputs", count)
	if count < 60 {
		t.Errorf("%d bad inputs, want at least 60", count)
	}
}

// refuse runs one command line that must fail, as text and as JSON.
func refuse(t *testing.T, args []string, code int, says *regexp.Regexp) {
	t.Helper()
	before := snapshot(t, ".")
	var out, errs bytes.Buffer
	got := run(args, &out, &errs)
	said := errs.String()
	t.Logf("lsm %s\n%s", strings.Join(args, " "), said)
	if got != code {
		t.Errorf("status %d, want %d", got, code)
	}
	if !says.MatchString(said) {
		t.Errorf("does not say %s", says)
	}
	soundMessage(t, said)
	same(t, before, snapshot(t, "."))

	out.Reset()
	errs.Reset()
	if again := run(append(args, "--json"), &out, &errs); again != got {
		t.Errorf("status %d with --json, %d without", again, got)
	}
	soundEvent(t, out.Bytes(), code, said)
	if errs.Len() > 0 {
		t.Errorf("says on the standard error in spite of --json: %s", &errs)
	}
	same(t, before, snapshot(t, "."))
}

// soundMessage looks at the form of a refusal: warnings, then one line that
// begins with the program's name, or a list of problems, then hints.
func soundMessage(t *testing.T, said string) {
	t.Helper()
	for _, never := range []string{"panic", "goroutine", "internal error", "runtime error", "%!", "<nil>", "0x0"} {
		if strings.Contains(said, never) {
			t.Errorf("says %q", never)
		}
	}
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	refusals := 0
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "lsm: warning: "):
		case strings.HasPrefix(line, "lsm: "):
			refusals++
			if strings.HasSuffix(line, ".") {
				t.Errorf("the message ends with a period: %s", line)
			}
		case strings.HasPrefix(line, "hint: ") && refusals == 1:
		case strings.HasPrefix(line, "  ") && refusals == 1: // a problem of several
		default:
			t.Errorf("a line of another form: %q", line)
		}
	}
	if refusals != 1 {
		t.Errorf("%d messages, want one", refusals)
	}
}

// soundEvent checks that the last line of out is the event "error" with the
// status and the message of the text.
func soundEvent(t *testing.T, out []byte, code int, said string) {
	t.Helper()
	lines := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
	var e struct {
		Event, Message, Hint string
		Status               int
	}
	if err := json.Unmarshal(lines[len(lines)-1], &e); err != nil {
		t.Errorf("the last line is no JSON: %v: %s", err, lines[len(lines)-1])
		return
	}
	if e.Event != "error" || e.Status != code || e.Message == "" {
		t.Errorf("the last event is %s", lines[len(lines)-1])
	}
	for _, line := range strings.Split(e.Message+"\n"+e.Hint, "\n") {
		if !strings.Contains(said, line) {
			t.Errorf("as JSON it says %q, as text it does not", line)
		}
	}
}

// snapshot is the content of every file under a folder, by path; folders have
// a slash and no content.
func snapshot(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			files[path+"/"] = ""
			return nil
		case !d.Type().IsRegular():
			files[path] = d.Type().String()
			return nil
		}
		content, err := os.ReadFile(path)
		files[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// same checks that nothing appeared, vanished or changed.
func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, content := range after {
		was, there := before[path]
		switch {
		case !there:
			t.Errorf("%s was left behind", path)
		case was != content:
			t.Errorf("%s was changed", path)
		}
	}
	for path := range before {
		if _, there := after[path]; !there {
			t.Errorf("%s is gone", path)
		}
	}
}

// quietEnvironment takes the program's own variables out of the environment.
func quietEnvironment(t *testing.T) {
	t.Helper()
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "LSM_") {
			t.Setenv(name, "") // puts it back at the end
			os.Unsetenv(name)
		}
	}
}

const (
	usageFault     = status.BadUsage
	inputFault     = status.BadInput
	resourceFault  = status.NoResource
	numericalFault = status.NotNumerical
)
