#!/bin/sh
# site.sh FOLDER: the documentation site, by Sphinx. LSM names the program, bin/lsm.
#
# Sphinx lies in ~/.cache/lsm/site, of the versions and hashes in docs/site/requirements.txt. PYTHON
# (python3) must be 3.11 or newer. The folder is made anew; the same tree gives the same bytes.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
LSM=${LSM:-bin/lsm}
folder=$1
export PYTHONDONTWRITEBYTECODE=1

fail() {
	echo "lsm: $*" >&2
	exit 1
}

"$PYTHON" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
	fail "the site needs Python 3.11 or newer with venv; PYTHON=/its/bin/python3 names another"
if [ -e "$folder" ] && [ ! -e "$folder/.buildinfo" ]; then
	fail "$folder is there and is no site"
fi

# One environment for each list and Python.
key=$({ cat docs/site/requirements.txt && "$PYTHON" -VV; } | cksum | cut -d ' ' -f 1)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/lsm/site/$key
if [ ! -e "$venv/ready" ]; then
	echo "lsm: installing Sphinx in $venv" >&2
	rm -rf "$venv"
	"$PYTHON" -m venv "$venv"
	"$venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r docs/site/requirements.txt ||
		fail "pip could not fetch what docs/site/requirements.txt lists"
	touch "$venv/ready"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
"$LSM" manual --markdown "$work/commands"
"$venv/bin/python" docs/site/stage.py "$work/source" "$work/commands"
"$venv/bin/sphinx-build" -q -W --keep-going -c docs/site -d "$work/trees" "$work/source" "$work/html"
rm -rf "$folder"
mv "$work/html" "$folder"
echo "$folder/index.html"
