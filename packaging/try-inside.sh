#!/bin/sh
# What try.sh runs in a root, from the folder that it has made there.
set -eu
cd "$(dirname "$0")"
(. /etc/os-release && echo "== $PRETTY_NAME, $(ldd --version 2>&1 | sed -n '1s/.*) //p')")
export SOURCE_DATE_EPOCH=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
lsm=$(echo "$PWD"/lsm-*/bin/lsm)

# image NAME COMMAND... makes NAME.h5.
image() {
	name=$1
	shift
	"$@" run demo/config.toml --set output.file="$name.h5" --set solver.iterations=3 >"$name.log" 2>&1 || { cat "$name.log"; exit 1; }
}

# same NAME COMMAND... makes NAME.h5 and compares it with that of the archive on one rank.
same() {
	image "$@"
	"$lsm" compare "$1.h5" archive.h5 --tolerance 0 >"$1.compare" || { cat "$1.compare"; exit 1; }
	echo "$1: the same bits as the archive on one rank"
}

# ranks NAME COMMAND... does so on two ranks that have found each other.
ranks() {
	same "$@"
	grep -m 1 '^communicator: .*, 2 ranks' "$1.log" || { cat "$1.log"; exit 1; }
}

"$lsm" version
"$lsm" synth faults -o demo --shots 8 >/dev/null
"$lsm" check demo/config.toml >/dev/null
image archive "$lsm"
"$lsm" plot archive.h5 -o archive.png >/dev/null
sha256sum archive.h5 archive.png >digest
PATH=$(dirname "$lsm"):$PATH sh "${lsm%/bin/lsm}/share/doc/lsm/tutorials/least-squares/run.sh" lesson >lesson.log 2>&1 || { cat lesson.log; exit 1; }
[ -s lesson/images.png ] && echo "the lesson least-squares: traces of finite differences, migrated and by least squares"
if command -v mpirun.openmpi >/dev/null; then
	ranks openmpi mpirun.openmpi --oversubscribe -n 2 "$lsm"
fi
if command -v mpiexec.mpich >/dev/null; then
	ranks mpich mpiexec.mpich -n 2 "$lsm"
fi
if [ -d wheels ]; then
	python3 -m venv --without-pip python
	python/bin/python "$(echo wheels/pip-*.whl)/pip" install -q --root-user-action ignore --no-index --find-links wheels kirchhoff-lsm pytest
	echo "the wheel, in $(python/bin/python --version)"
	same wheel python/bin/lsm
	(cd tree/python/tests && LSM_PROGRAM=$lsm ../../../python/bin/python -m pytest -q -rs --tb=short -p no:cacheprovider --ignore test_pylops_suite.py)
fi
if command -v lsm >/dev/null; then
	echo "this root has an lsm already: the package is not tried"
elif command -v dpkg >/dev/null; then
	trap 'dpkg -P lsm >/dev/null 2>&1' EXIT
	dpkg -i lsm*.deb >dpkg.log 2>&1 || { cat dpkg.log; exit 1; }
	same deb lsm
elif command -v rpm >/dev/null; then
	trap 'rpm -e lsm' EXIT
	rpm -i lsm*.rpm
	same rpm lsm
fi
