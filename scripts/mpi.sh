#!/bin/sh
# Finds an MPI and prints what a Go build with it needs, as assignments for the
# shell. It prints nothing if there is no MPI:
#
#   eval "$(scripts/mpi.sh)"; go build ./cmd/lsm
#   scripts/mpi.sh run go build ./cmd/lsm      the same
#   scripts/mpi.sh list      prints the names of all MPIs found, one per line
#
# MPI=none builds without; MPI=openmpi and MPI=mpich ask pkg-config for these
# (ompi-c, mpich); MPI=mpicc asks the mpicc on the PATH, whatever library it is
# of; any other value is the mpicc to ask. Without MPI set, the first of them
# that compiles, links and loads is taken.
#
# With openmpi and mpich the flags are no variables but a build tag: then go
# compiles and links against MPI where it is used alone, and changing the library
# rebuilds that and what stands above it, not every package with C in it.
set -eu
CC=${CC:-gcc}
PKG_CONFIG=${PKG_CONFIG:-pkg-config}

say() { printf 'lsm: %s\n' "$*" >&2; }

# works tells whether a program against MPI compiles, links and loads.
works() {
	dir=$(mktemp -d)
	printf '%s\n' '#include <mpi.h>' 'int main(void) { char s[MPI_MAX_LIBRARY_VERSION_STRING]; int n;' \
		'return MPI_Get_library_version(s, &n); }' >"$dir/t.c"
	ok=0
	# shellcheck disable=SC2086 # lists of flags
	{ "$CC" $1 -o "$dir/t" "$dir/t.c" $2 && "$dir/t"; } >/dev/null 2>&1 || ok=1
	rm -rf "$dir"
	return $ok
}

# flags NAME sets $cflags and $libs, or returns 1.
flags() {
	case $1 in
	openmpi) module=ompi-c ;;
	mpich) module=mpich ;;
	*)
		wrapper_flags "$1"
		return
		;;
	esac
	command -v "$PKG_CONFIG" >/dev/null 2>&1 || return 1
	cflags=$("$PKG_CONFIG" --cflags "$module" 2>/dev/null) && libs=$("$PKG_CONFIG" --libs "$module" 2>/dev/null)
}

# wrapper_flags asks a compiler wrapper what it would add: Open MPI's way of
# asking, then that of MPICH and its kin, whose answer is a whole command.
wrapper_flags() {
	command -v "$1" >/dev/null 2>&1 || return 1
	if cflags=$("$1" --showme:compile 2>/dev/null) && libs=$("$1" --showme:link 2>/dev/null); then return; fi
	command=$("$1" -show 2>/dev/null) || return 1
	cflags= libs=
	# shellcheck disable=SC2086 # a list of flags, of which the first is the compiler
	set -- $command
	shift
	for flag; do
		case $flag in
		-L* | -l* | -Wl,*) libs="$libs $flag" ;;
		*) cflags="$cflags $flag" ;;
		esac
	done
}

usable() { flags "$1" && works "$cflags" "$libs"; }

# settings prints the assignments for one MPI.
settings() {
	case $1 in
	openmpi | mpich) echo "export GOFLAGS='${GOFLAGS:+$GOFLAGS }-tags=mpi,$1'" ;;
	*)
		echo "export GOFLAGS='${GOFLAGS:+$GOFLAGS }-tags=mpi'"
		echo "export CGO_CFLAGS='${CGO_CFLAGS:--g -O2} $cflags'"
		echo "export CGO_LDFLAGS='${CGO_LDFLAGS:--g -O2} $libs'"
		;;
	esac
}

candidates=${MPI:-openmpi mpich mpicc}
if [ "$candidates" = none ]; then candidates=; fi

# usables prints the names of all, one a line; mpicc belongs to one of the others
# where they are there.
usables() {
	for name in $candidates; do
		if [ "$name" = mpicc ] && [ -n "${some:-}" ]; then continue; fi
		if usable "$name"; then
			some=$name
			echo "$name"
		fi
	done
}

# choose sets $found to the first that is usable, or to nothing.
choose() {
	for found in $candidates; do
		if usable "$found"; then return; fi
	done
	found=
	case ${MPI:-none} in
	none) return ;;
	esac
	say "MPI=$MPI: no such MPI compiles, links and loads with $CC"
	echo "hint: MPI=none builds without one" >&2
	exit 4
}

case ${1:-} in
list) usables ;;
run)
	shift
	choose
	if [ -n "$found" ]; then eval "$(settings "$found")"; fi
	say "MPI: ${found:-none}"
	exec "$@"
	;;
'')
	choose
	if [ -n "$found" ]; then settings "$found"; fi
	;;
*)
	say "usage: scripts/mpi.sh [list | run COMMAND...]"
	exit 2
	;;
esac
