package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The committed page must be what the table makes now.
func TestDocumentIsFresh(t *testing.T) {
	compare(t, filepath.Join("..", "..", "docs", "configuration.md"), markdown())
	if t.Failed() {
		t.Log("to rewrite it: go generate ./internal/config")
	}
}

func TestEveryKeyIsDescribed(t *testing.T) {
	help, template, page := Help(), Template(), markdown()
	for _, f := range Fields() {
		if f.Help == "" || !strings.HasSuffix(f.Help, ".") {
			t.Errorf("%s: help %q is no sentence", f.Name(), f.Help)
		}
		for _, want := range []string{"  " + f.Name() + "\n", f.Env} {
			if !strings.Contains(help, want) {
				t.Errorf("%s: no %q in the help", f.Name(), want)
			}
		}
		if !regexp.MustCompile(`(?m)^(# )?` + f.Key + ` = `).MatchString(template) {
			t.Errorf("%s: not in the template", f.Name())
		}
		if !strings.Contains(page, "| `"+f.Key+"` |") {
			t.Errorf("%s: not on the page", f.Name())
		}
		one, err := HelpKey(f.Name())
		if err != nil || !strings.Contains(help, one) {
			t.Errorf("%s: HelpKey gives %q, %v, which is not in the help", f.Name(), one, err)
		}
	}
	for _, text := range []string{help, template} {
		for _, line := range strings.Split(text, "\n") {
			if len(line) > textWidth {
				t.Errorf("line of %d columns: %q", len(line), line)
			}
		}
	}
}

func TestHelpKey(t *testing.T) {
	for _, c := range []struct{ name, want, err string }{
		{name: "damping", want: "  solver.damping\n"},
		{name: "solver.damping", want: "  solver.damping\n"},
		{name: "comm", want: "[comm]\n"},
		{name: "damp", err: `did you mean "solver.damping"?`},
		{name: "solver.damp", err: `did you mean "solver.damping"?`},
		{name: "iterations", err: `did you mean "solver.iterations" or "checkpoint.iterations"?`},
		{name: "weather", err: "the sections are survey, data, velocity"},
		{name: "", err: "the sections are survey, data, velocity"},
	} {
		text, err := HelpKey(c.name)
		if c.err == "" && (err != nil || !strings.HasPrefix(text, c.want)) {
			t.Errorf("%q: %q, %v, want text that begins %q", c.name, text, err, c.want)
		}
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q: %q, %v, want error %q", c.name, text, err, c.err)
		}
	}
}

// The template is the defaults, also with every default in it uncommented.
func TestTemplateIsTheDefaults(t *testing.T) {
	least := "[survey]\nfile = \"survey.h5\"\n[velocity]\nfile = \"model.h5\"\n"
	want, err := Parse("config.toml", []byte(least), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	template := Template()
	uncommented := 0
	in := ""
	lines := strings.Split(template, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "[") {
			in = strings.Trim(line, "[]")
		}
		m := regexp.MustCompile(`^# (\w+) = `).FindStringSubmatch(line)
		if m == nil {
			continue
		}
		f := table().field(in + "." + m[1])
		if f != nil && f.sample() == f.Default {
			lines[i] = strings.TrimPrefix(line, "# ")
			uncommented++
		}
	}
	if uncommented < 15 {
		t.Errorf("only %d defaults in the template", uncommented)
	}
	for _, source := range []string{template, strings.Join(lines, "\n")} {
		c, err := Parse("config.toml", []byte(source), nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		if c.TOML() != want.TOML() {
			t.Errorf("the template resolves to\n%s\nwant\n%s", c.TOML(), want.TOML())
		}
		if len(c.Notes()) > 0 {
			t.Errorf("notes on the template: %v", c.Notes())
		}
	}
}

// Examples stand where a default would show nothing: each must be a good value.
func TestExamplesAreGood(t *testing.T) {
	for _, f := range table().fields() {
		if v, found := f.parse(f.sample()); found != "" {
			t.Errorf("%s: example %s: want %s, found %s", f.Name(), f.sample(), f.want(), found)
		} else if encode(v) != f.sample() {
			t.Errorf("%s: example %s reads as %s", f.Name(), f.sample(), encode(v))
		}
		if f.example == "" && (f.Required || f.Default == `""` || f.Default == "[]") {
			t.Errorf("%s: neither default nor example", f.Name())
		}
	}
}

// The contract with users: these keys, with these defaults.
func TestDefaults(t *testing.T) {
	want := map[string]string{
		"survey.file":                  "",
		"survey.wavelet_file":          `""`,
		"data.offset":                  "[]",
		"data.azimuth":                 "[]",
		"data.dead":                    `"mask"`,
		"data.weights":                 `"coherence"`,
		"data.mute_offsets":            "[]",
		"data.mute_times":              "[]",
		"data.mute_taper":              "0.05",
		"data.whiten":                  "0.0",
		"data.read":                    `"auto"`,
		"image.surface":                `"none"`,
		"image.surface_file":           `""`,
		"image.surface_taper":          "0.0",
		"image.gathers":                `"none"`,
		"image.gather_bins":            "[]",
		"image.gather_azimuths":        "1",
		"image.gather_angle":           `"opening"`,
		"image.gather_normalize":       `"none"`,
		"image.gather_ends":            `"closed"`,
		"image.halves":                 "false",
		"output.filter":                `"none"`,
		"kirchhoff.dip_limit":          "[]",
		"kirchhoff.opening_limit":      "[]",
		"kirchhoff.antialias":          `"off"`,
		"kirchhoff.antialias_spacing":  "[]",
		"kirchhoff.aperture":           "[]",
		"kirchhoff.aperture_taper":     "[]",
		"traveltime.margin":            "[]",
		"traveltime.arrivals":          `"3+first"`,
		"traveltime.smoothing":         "[]",
		"solver.band":                  "true",
		"solver.regularization":        `"none"`,
		"solver.regularization_weight": "0.0",
		"solver.matching_window":       "[]",
		"solver.matching_filter":       "[]",
		"output.residual":              `""`,
		"output.weights":               `""`,
		"output.psf":                   `""`,
		"output.psf_spacing":           "[]",
		"velocity.file":                `""`,
		"velocity.constant":            "0.0",
		"image.origin":                 "[]",
		"image.spacing":                "[]",
		"image.domain":                 `"depth"`,
		"image.shape":                  "[]",
		"traveltime.method":            `"eikonal"`,
		"traveltime.file":              `""`,
		"kirchhoff.engine":             `"auto"`,
		"kirchhoff.dynamic":            "true",
		"kirchhoff.wavelet_filter":     `"on"`,
		"kirchhoff.tables":             `"auto"`,
		"survey.units":                 `"auto"`,

		"velocity.units":             `"auto"`,
		"velocity.anisotropy":        `"auto"`,
		"velocity.receiver_file":     `""`,
		"velocity.receiver_constant": `0.0`,
		"kirchhoff.angle_limit":      "[72.0, 90.0]",
		"kirchhoff.spreading":        `"auto"`,
		"kirchhoff.takeoff_limit":    "[]",
		"comm.backend":               `"auto"`,
		"comm.grid":                  "[0, 1]",
		"comm.fallback":              `"none"`,
		"comm.accumulate":            `"allreduce"`,
		"comm.overlap":               `"auto"`,
		"comm.timeout":               "45.0",
		"solver.method":              `"cgls"`,
		"solver.iterations":          "8",
		"solver.tolerance":           "0.0",
		"solver.damping":             "0.2",
		"solver.penalty_scale":       `"relative"`,
		"solver.reproducible":        `"ranks"`,
		"solver.start":               `""`,
		"solver.orthogonalize":       "20",
		"solver.true_residual_every": "10",
		"checkpoint.minutes":         "10.0",
		"checkpoint.iterations":      "0",
		"checkpoint.time_limit":      "0.0",
		"checkpoint.folder":          `"checkpoints"`,
		"output.file":                `"image.h5"`,
		"output.scale":               `"operator"`,
		"output.adjoint":             `""`,
		"machine.threads":            "0",
		"machine.memory_gib":         "0.0",
	}
	for _, f := range Fields() {
		d, ok := want[f.Name()]
		if !ok {
			t.Errorf("%s: not in the list of this test", f.Name())
		} else if f.Default != d {
			t.Errorf("%s: default %s, want %s", f.Name(), f.Default, d)
		}
		delete(want, f.Name())
	}
	for name := range want {
		t.Errorf("%s: missing from the table", name)
	}
}

// The ready configurations load, say nothing, and survive the round trip.
func TestReadyConfigurations(t *testing.T) {
	folder := filepath.Join("..", "..", "configs")
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"laptop-2d.toml", "laptop-3d.toml", "dynamic.toml", "reference.toml"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".toml" {
			continue
		}
		c, err := Load(filepath.Join(folder, e.Name()), nil, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(c.Notes()) > 0 {
			t.Errorf("%s: notes %v", e.Name(), c.Notes())
		}
		if c.Survey.File.File != filepath.Join(folder, "survey.h5") || c.Velocity.File.File != filepath.Join(folder, "model.h5") {
			t.Errorf("%s: survey %s and model %s, want survey.h5 and model.h5 beside it", e.Name(), c.Survey.File, c.Velocity.File)
		}
		roundTrip(t, c)
	}
}

// markdown is the page docs/configuration.md.
func markdown() string {
	var b strings.Builder
	b.WriteString("<!-- Made from internal/config/sections.go by `go generate ./internal/config`; edit that. -->\n")
	b.WriteString("# Configuration\n\n")
	for _, p := range preface {
		b.WriteString(escape(p) + "\n\n")
	}
	b.WriteString("`lsm help config` prints this page's tables, `lsm check CONFIG` tries a file without computing.\n")
	for _, s := range table().sections {
		fmt.Fprintf(&b, "\n## `[%s]`\n\n%s\n\n", s.name, escape(s.help))
		b.WriteString("| key | value | default | meaning |\n|---|---|---|---|\n")
		for _, f := range s.fields {
			deflt := "required"
			if !f.Required {
				deflt = "`" + f.Default + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Key, escape(f.want()), deflt, escape(f.Help))
		}
	}
	b.WriteString("\n## Problems\n\nThis file, `run.toml`,\n\n```toml\n" + badExample + "```\n\nis answered by\n\n```\n")
	_, err := Parse("run.toml", []byte(badExample), []string{"solver.damping=-1"}, nil)
	fmt.Fprintf(&b, "%v\n```\n\nwhere the last line is the answer to `--set solver.damping=-1`.\n", err)
	b.WriteString("\n## Template\n\n```toml\n" + Template() + "```\n")
	return b.String()
}

// badExample shows what problems look like.
const badExample = `[survey]
fil = "survey.h5"

[velocity]
constant = "fast"

[solver]
method = "cgsl"
iteratons = 40

[output]
minutes = 5
`

// escape keeps Markdown from reading plain text as markup, also in a table.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "<", "&lt;").Replace(s)
}
