#!/bin/sh
# Looks for known vulnerabilities in what the program calls, Go's standard library and the modules of go.mod, by
# govulncheck. Run by make vulnerabilities.
#
# The database is that of vuln.go.dev. Where that cannot be reached, it is made from the module
# golang.org/x/vulndb, which may be some days older. The status is 0 if nothing was found, 3 if something was, and 4 if there was
# no database or no govulncheck, so that nothing was looked for.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.9.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	printf 'lsm: nothing was looked for: %s\n' "$1" >&2
	exit 4
}

# tool PACKAGE@VERSION builds a program outside this module.
tool() { (cd "$work" && GOFLAGS='' GOBIN=$work "$go" install "$1"); }

# look ANSWER [OPTION]... shows what govulncheck answers and returns its status.
look() {
	answer=$1
	shift
	status=0
	"$work/govulncheck" "$@" ./... >"$answer" 2>&1 || status=$?
	return $status
}

tool $govulncheck || fail "$govulncheck cannot be built"
database=vuln.go.dev
status=0
look "$work/answer" || status=$?
if [ $status != 0 ] && [ $status != 3 ]; then
	cat "$work/answer" >&2
	grep -q vuln.go.dev "$work/answer" || fail "govulncheck failed"
	version=$("$go" list -m -f '{{.Version}}' golang.org/x/vulndb@latest) || fail "neither vuln.go.dev nor golang.org/x/vulndb can be reached"
	database=golang.org/x/vulndb@$version
	tool "golang.org/x/vulndb/cmd/indexdb@$version" || fail "the program that makes a database of $database cannot be built"
	reports=$(cd "$work" && GOFLAGS='' "$go" mod download -json "$database" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	"$work/indexdb" -vulns "$reports/data/osv" -out "$work/database" || fail "no database could be made of $database"
	status=0
	look "$work/answer" -db "file://$work/database" || status=$?
fi
cat "$work/answer"
printf 'looked with %s, database %s, %s\n' "$govulncheck" "$database" "$("$go" version)"
case $status in
0 | 3) exit $status ;;
*) fail "govulncheck failed" ;;
esac
