#!/bin/sh
# python.sh wheel|pack FOLDER TO|test: the Python package.
#
# wheel builds the C library and puts it into a wheel in python/dist, for this machine. pack makes
# a wheel in TO of a copy of python/ with the library and the program inside. Both use PYTHON
# (python3). test builds the library, with faults that tests call up (python/seeds.py), and the
# program, and runs the package's tests, with PYTHON or with an environment of its own, made once
# for each python/requirements.txt. It is skipped where pip cannot make that, and where PYTHON lacks
# PyLops, numba or pytest. LSM_PROGRAM names another program.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
VERSION=${VERSION:-} # empty: that of python/setup.py
build=python/build
seeded=$build/seeded

# library FILE [OPTION...] builds the C library.
library() {
	file=$1
	shift
	"$GO" build -buildmode=c-shared -ldflags "-s -w ${LDFLAGS:-}" "$@" -o "$file" ./cmd/liblsm
}

# version writes that of git as Python does: 0.1.0-5-gabc, five commits after 0.1.0, is 0.1.0.post5+gabc.
version() {
	printf '%s' "${VERSION#v}" | sed -E 's/-([0-9]+)-g/.post\1+g/; s/-dirty$/.dirty/; /\+/!s/\.dirty$/+dirty/'
}

# pack FOLDER TO makes the wheel of the package in a folder.
pack() {
	VERSION=$(version) "${PYTHON:-python3}" -m pip wheel -q --disable-pip-version-check --no-deps -w "$2" "$1"
}

# environment sets PYTHON to one with what the tests need.
environment() {
	at=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/lsm/python
	if ! cmp -s python/requirements.txt "$at/made"; then
		echo "lsm: installing python/requirements.txt in $at" >&2
		rm -rf "$at"
		# LDFLAGS are Go's here; packages that pip compiles would give them to the C++ linker.
		python3 -m venv "$at" && env -u LDFLAGS "$at/bin/pip" install -q --disable-pip-version-check -r python/requirements.txt || return 1
		cp python/requirements.txt "$at/made"
	fi
	PYTHON=$at/bin/python
}

case $1 in
pack) pack "$2" "$3" ;;
wheel)
	library "$build/liblsm.so"
	cp "$build/liblsm.so" include/lsm.h python/kirchhoff_lsm/
	cp LICENSE NOTICE python/
	rm -rf "$build"/lib.* "$build"/bdist.* # of setuptools
	pack ./python python/dist
	ls python/dist/*.whl
	;;
test)
	if [ -z "${PYTHON:-}" ] && ! environment; then
		echo "tests of the Python package are skipped: Python or pip cannot install python/requirements.txt"
		exit 0
	fi
	if ! "$PYTHON" -c 'import numba, pylops, pytest' 2>/dev/null; then
		echo "tests of the Python package are skipped: $PYTHON has not all of numba, pylops and pytest"
		exit 0
	fi
	"$PYTHON" python/seeds.py "$seeded"
	library "$seeded/liblsm.so" -overlay "$seeded/overlay.json"
	[ -n "${LSM_PROGRAM:-}" ] || "$GO" build -o "$build/lsm" ./cmd/lsm
	LSM_PROGRAM=${LSM_PROGRAM:-$PWD/$build/lsm} LSM_LIBRARY=$PWD/$seeded/liblsm.so LSM_TEST_SEEDED=1 PYTHONPATH=$PWD/python "$PYTHON" -m pytest -q -rs -p no:cacheprovider python/tests
	;;
esac
