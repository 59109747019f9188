#!/bin/sh
# run.sh [CASE...]: the table of run.py, or with a first argument such as loop.py what that script prints, by Python with the packages of requirements.txt, which it keeps beside the data.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
at=${LSM_WAVE:-${XDG_CACHE_HOME:-$HOME/.cache}/lsm/wave}
if ! cmp -s "$here/requirements.txt" "$at/python/made"; then
	rm -rf "$at/python"
	mkdir -p "$at"
	python3 -m venv "$at/python" && "$at/python/bin/pip" install -q --disable-pip-version-check -r "$here/requirements.txt"
	cp "$here/requirements.txt" "$at/python/made"
fi
script=run.py
case ${1:-} in *.py) script=$1 && shift ;; esac
LSM_WAVE=$at exec "$at/python/bin/python" -u "$here/$script" "$@"
