#!/bin/sh
# try-wheel.sh: installs the wheel that python.sh has left in python/dist, in an environment of its own, and runs the tests of
# the Python package that need neither PyLops nor the program. PYTHON is python3.
set -eu
cd "$(dirname "$0")/.."
venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install -q --disable-pip-version-check python/dist/*.whl pytest numba scikit-fmm
cd python/tests
"$venv/bin/python" -m pytest -q -rs -p no:cacheprovider test_kirchhoff.py test_traces.py test_process.py
