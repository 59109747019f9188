#!/bin/sh
# Runs every step of make test, whatever became of those before, and lists at the end what failed.
# GO, TIMEOUT, MPI_PACKAGES, MPI_TESTS and LDFLAGS come from the Makefile.
set -u
cd "$(dirname "$0")/.."
failed=

# step NAME COMMAND... runs a command and notes where it fails.
step() {
	name=$1
	shift
	printf '\n== %s\n' "$name"
	"$@" || failed="$failed
  $name"
}

# with_mpich COMMAND... runs a command with the MPI that is not the first choice.
with_mpich() { LSM_MPI_LIB=mpich "$@"; }

# One program serves all tests that run it.
export LSM_TEST_PROGRAM="$PWD/bin/test" LSM_PROGRAM="$PWD/bin/test/lsm"

beside=$(mktemp -d)
# Programs that some tests need are fetched while the first steps compute; where somebody may be asked for a
# password, before.
fetch() { scripts/bootstrap.sh test || touch "$beside/unfetched"; }
if [ -t 0 ]; then
	fetch
else
	fetch >"$beside/fetched" 2>&1 &
fi
step vet "$GO" vet ./...
step program "$GO" build -o "$LSM_PROGRAM" ./cmd/lsm
step gofmt scripts/gofmt.sh
wait
[ ! -e "$beside/fetched" ] || cat "$beside/fetched"
[ ! -e "$beside/unfetched" ] || failed="$failed
  set-up"
# What waits for ranks and for Python leaves processors idle, so it runs beside the packages. It is shown after them.
(
	failed=
	step Python scripts/python.sh test
	# shellcheck disable=SC2086 # a list of packages
	step "packages, MPICH" with_mpich "$GO" test -vet=off -timeout "$TIMEOUT" $MPI_PACKAGES
	step "program on ranks, MPICH" with_mpich "$GO" test -vet=off -timeout "$TIMEOUT" -run "^($MPI_TESTS)\$" ./cmd/lsm
	printf '%s' "$failed" >"$beside/failed"
) >"$beside/said" 2>&1 &
trap 'kill $!; exit 130' INT TERM

# The longest packages begin first. go test need not vet again.
step packages "$GO" test -vet=off -timeout "$TIMEOUT" ./cmd/lsm ./internal/pipeline ./tutorials ./kirchhoff/gpu ./...
wait
cat "$beside/said"
failed=$failed$(cat "$beside/failed" || printf '\n  the steps beside the packages')
rm -r "$beside"

[ -z "$failed" ] || {
	printf '\nFAILED:%s\n' "$failed"
	exit 1
}
printf '\nall steps passed\n'
