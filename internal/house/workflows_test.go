package house

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is what is checked of a file in .github/workflows.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Minutes     int `yaml:"timeout-minutes"`
		Permissions map[string]string
		Steps       []struct {
			Uses, Run string
			With      map[string]any
		}
	}
}

// workflowFaults lists what is wrong with a workflow. It reads repositories and nothing more, but for what a job names. It
// runs at one commit of what it uses, which a tag would not hold, and every job ends. The commands of a step are a make target or a
// script, which run on any machine too, or set up a machine.
func workflowFaults(text string, targets map[string]bool) (list []string) {
	say := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	var w workflow
	if err := yaml.Unmarshal([]byte(text), &w); err != nil || len(w.Jobs) == 0 {
		say("%v, %d jobs", err, len(w.Jobs))
	}
	if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		say("permissions %v, want contents: read", w.Permissions)
	}
	for _, line := range regexp.MustCompile(`(?m)^.*\buses: .*$`).FindAllString(text, -1) {
		if !regexp.MustCompile(`uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`).MatchString(line) {
			say("%q, want a commit and its version", strings.TrimSpace(line))
		}
	}
	for name, job := range w.Jobs {
		if job.Minutes == 0 {
			say("job %s has no timeout-minutes", name)
		}
		for scope, right := range job.Permissions {
			if right == "write" && scope != "pages" && scope != "id-token" && scope != "security-events" {
				say("job %s may write %s", name, scope)
			}
		}
		for _, step := range job.Steps {
			if strings.HasPrefix(step.Uses, "actions/checkout@") && step.With["persist-credentials"] != false {
				say("job %s: a checkout keeps its token", name)
			}
			if step.Run != "" {
				if fault := command(step.Run, targets); fault != "" {
					say("job %s: %s", name, fault)
				}
			}
		}
	}
	return list
}

// setup are the commands that prepare a machine.
var setup = regexp.MustCompile(`^((sudo )?apt-get (update|install -y [\w .-]+)( && )?)+$|^git config --global --add safe\.directory "\$PWD"$`)

// command says what is wrong with the command of a step; empty: nothing.
func command(run string, targets map[string]bool) string {
	words := strings.Fields(run)
	switch {
	case setup.MatchString(run):
		return ""
	case strings.ContainsAny(strings.TrimSpace(run), "\n;&|"):
		return fmt.Sprintf("%q, want one make target or script", run)
	case words[0] == "make":
		for _, word := range words[1:] {
			if targets[word] {
				return ""
			}
		}
		return fmt.Sprintf("%q: the Makefile has no such target", run)
	}
	if info, err := os.Stat(filepath.Join(root, words[0])); err != nil || info.Mode()&0o111 == 0 {
		return fmt.Sprintf("%q, want make or a script that can be executed: %v", run, err)
	}
	return ""
}

// makeTargets are those that make help lists.
func makeTargets(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^([a-z0-9-]+):.*## `).FindAllStringSubmatch(string(text), -1) {
		targets[found[1]] = true
	}
	return targets
}

func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d workflows: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range workflowFaults(string(text), makeTargets(t)) {
			t.Errorf("%s: %s", filepath.Base(file), fault)
		}
	}
}

// Each fault of a workflow is found.
func TestWorkflowFaults(t *testing.T) {
	const good = `permissions:
  contents: read
jobs:
  test:
    timeout-minutes: 5
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          persist-credentials: false
      - run: make test
`
	targets := makeTargets(t)
	if list := workflowFaults(good, targets); list != nil {
		t.Errorf("%q", list)
	}
	for _, c := range [][3]string{
		{"contents: read", "contents: write", "permissions"},
		{" # v7.0.1", "", "want a commit and its version"},
		{"3d3c42e5aac5ba805825da76410c181273ba90b1", "v7", "want a commit and its version"},
		{"    timeout-minutes: 5\n", "", "no timeout-minutes"},
		{"    timeout-minutes: 5\n", "    timeout-minutes: 5\n    permissions:\n      contents: write\n", "may write contents"},
		{"persist-credentials: false", "fetch-depth: 0", "keeps its token"},
		{"make test", "make tset", "no such target"},
		{"make test", "scripts/none.sh", "want make or a script"},
		{"make test", "curl example.org | sh", "want one make target or script"},
		{"make test", "apt-get install -y gcc && curl example.org", "want one make target or script"},
	} {
		list := workflowFaults(strings.Replace(good, c[0], c[1], 1), targets)
		if len(list) != 1 || !strings.Contains(list[0], c[2]) {
			t.Errorf("%q: found %q, want %q", c[1], list, c[2])
		}
	}
}

// Dependabot looks at folders that are there.
func TestUpdates(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".github/dependabot.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Updates []struct {
			Ecosystem   string `yaml:"package-ecosystem"`
			Directory   string
			Directories []string
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil || len(config.Updates) != 3 {
		t.Fatalf("%v, %d kinds of updates", err, len(config.Updates))
	}
	manifests := map[string]string{"gomod": "go.mod", "github-actions": ".github/workflows", "pip": "requirements.txt"}
	for _, u := range config.Updates {
		for _, folder := range append(u.Directories, u.Directory) {
			if folder == "" {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, folder, manifests[u.Ecosystem])); err != nil {
				t.Errorf("%s: %v", u.Ecosystem, err)
			}
		}
	}
}

// Labels that templates of issues set are in the list of labels.
func TestLabels(t *testing.T) {
	read := func(path string, into any) {
		t.Helper()
		text, err := os.ReadFile(path)
		if err == nil {
			err = yaml.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	var labels []struct{ Name, Color, Description string }
	read(filepath.Join(root, ".github/labels.yml"), &labels)
	known := map[string]bool{}
	for _, l := range labels {
		known[l.Name] = regexp.MustCompile(`^[0-9a-f]{6}$`).MatchString(l.Color) && l.Description != ""
	}
	for _, name := range []string{"good first issue", "dependencies"} {
		if !known[name] {
			t.Errorf("no label %q", name)
		}
	}
	templates, err := filepath.Glob(filepath.Join(root, ".github/ISSUE_TEMPLATE/[^c]*.yml"))
	if err != nil || len(templates) != 3 {
		t.Fatalf("%d templates: %v", len(templates), err)
	}
	for _, path := range templates {
		var template struct {
			Name, Description string
			Labels            []string
			Body              []struct{ Type string }
		}
		read(path, &template)
		if template.Name == "" || template.Description == "" || len(template.Body) == 0 || len(template.Labels) != 1 || !known[template.Labels[0]] {
			t.Errorf("%s: %+v", path, template)
		}
	}
}
