package house

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stubGo stands for go. What it installs reaches vuln.go.dev where ONLINE is set, and finds what FOUND says.
const stubGo = `#!/bin/sh
case "$1 $2" in
"install golang.org/x/vuln/"*)
	[ -z "$NONE" ] || exit 1
	printf '#!/bin/sh\n[ -n "$ONLINE" ] || [ "$1" = -db ] || { echo "fetching vulnerabilities: vuln.go.dev: no such host"; exit 1; }\necho "looked $*"\nexit ${FOUND:-0}\n' >"$GOBIN/govulncheck"
	chmod +x "$GOBIN/govulncheck" ;;
"install golang.org/x/vulndb/"*)
	printf '#!/bin/sh\nmkdir "$4"\n' >"$GOBIN/indexdb"
	chmod +x "$GOBIN/indexdb" ;;
"list -m") [ -n "$PROXY" ] && echo v0.1.0 ;;
"mod download") printf '{\n\t"Dir": "/reports",\n}\n' ;;
version*) echo go version none ;;
esac
`

// scripts/vulnerabilities.sh tells what it found from what it could not look for.
func TestVulnerabilities(t *testing.T) {
	goes := filepath.Join(t.TempDir(), "go")
	write(t, goes, []byte(stubGo))
	for _, c := range []struct {
		env    string
		status int
		say    string
	}{
		{"ONLINE=1", 0, "database vuln.go.dev"},
		{"ONLINE=1 FOUND=3", 3, "database vuln.go.dev"},
		{"ONLINE=1 FOUND=1", 4, "nothing was looked for: govulncheck failed"},
		{"PROXY=1", 0, "database golang.org/x/vulndb@v0.1.0"},
		{"PROXY=1 FOUND=3", 3, "database golang.org/x/vulndb@v0.1.0"},
		{"PROXY=1 FOUND=1", 4, "nothing was looked for: govulncheck failed"},
		{"ALONE=1", 4, "nothing was looked for: neither vuln.go.dev nor golang.org/x/vulndb can be reached"},
		{"NONE=1", 4, "nothing was looked for: golang.org/x/vuln"},
	} {
		cmd := exec.Command("sh", filepath.Join(root, "scripts/vulnerabilities.sh"))
		cmd.Env = append(append(os.Environ(), "GO="+goes), strings.Fields(c.env)...)
		out, err := cmd.CombinedOutput()
		if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.Contains(string(out), c.say) {
			t.Errorf("%s: status %d, want %d; %q lacks %q", c.env, got, c.status, out, c.say)
		}
	}
}
