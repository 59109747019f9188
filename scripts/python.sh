#!/bin/sh
# python.sh wheel|pack FOLDER TO|test: the Python package.
#
# wheel builds the C library and puts it into a wheel in python/dist, for this machine. pack makes
# a wheel in TO of a copy of python/ with the library and the program inside. test builds the library
# and runs the package's tests, with PYTHON (python3). It is skipped where that lacks PyLops,
# numba or pytest. Tests of the program use bin/lsm, or LSM_PROGRAM.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
PYTHON=${PYTHON:-python3}
build=python/build

library() {
	"$GO" build -buildmode=c-shared -ldflags "-s -w ${LDFLAGS:-}" -o "$build/liblsm.so" ./cmd/liblsm
}

# current: the library is newer than its sources. Go makes every package with C in it anew for a
# shared library, which takes a minute or two.
current() {
	[ -e "$build/liblsm.so" ] && [ -z "$(find go.mod include cmd/liblsm device dist grid internal kirchhoff survey traveltime \
		-type f -newer "$build/liblsm.so" -print -quit)" ]
}

# version writes that of git as Python does: 0.1.0-5-gabc, five commits after 0.1.0, is 0.1.0.post5+gabc.
version() {
	printf '%s' "${VERSION#v}" | sed -E 's/-([0-9]+)-g/.post\1+g/; s/-dirty$/.dirty/; /\+/!s/\.dirty$/+dirty/'
}

# pack FOLDER TO makes the wheel of the package in a folder.
pack() {
	VERSION=$(version) "$PYTHON" -m pip wheel -q --disable-pip-version-check --no-deps -w "$2" "$1"
}

case $1 in
pack) pack "$2" "$3" ;;
wheel)
	library
	cp "$build/liblsm.so" include/lsm.h python/lsm/
	rm -rf "$build"/lib.* "$build"/bdist.* # of setuptools
	pack ./python python/dist
	ls python/dist/*.whl
	;;
test)
	if ! "$PYTHON" -c 'import numba, pylops, pytest' 2>/dev/null; then
		echo "skipped: $PYTHON has not all of numba, pylops and pytest; PYTHON=/another/python names one that has"
		exit 0
	fi
	current || library
	if [ -x bin/lsm ]; then export LSM_PROGRAM="${LSM_PROGRAM:-$PWD/bin/lsm}"; fi
	LSM_LIBRARY=$PWD/$build/liblsm.so PYTHONPATH=$PWD/python "$PYTHON" -m pytest -q -rs -p no:cacheprovider python/tests
	;;
esac
