#!/bin/sh
# run.sh [CASE ...]: see README.md. The Python packages go into a folder of their
# own beside this script, made once for each requirements.txt.
set -eu
cd "$(dirname "$0")"
venv=${VENV:-.venv}
if [ ! "$venv/made" -nt requirements.txt ]; then
	python3 -m venv "$venv" || { echo "hint: Debian: apt-get install python3-venv" >&2; exit 4; }
	"$venv/bin/pip" install -q -r requirements.txt
	touch "$venv/made"
fi
lsm=${LSM:-../../bin/lsm}
[ -x "$lsm" ] || { echo "$lsm: not built; make build" >&2; exit 4; }
[ $# -gt 0 ] || set -- small large cube streamer eikonal anisotropy lsm line waves
echo "processor: $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo 2>/dev/null), $(nproc) threads; $("$lsm" version | head -1)"
for case in "$@"; do
	case $case in
	eikonal) "$venv/bin/python" eikonal.py "$lsm" ;;
	anisotropy) "$venv/bin/python" anisotropy.py "$lsm" ;;
	lsm) "$venv/bin/python" solve.py "$lsm" ;;
	line) "$venv/bin/python" line.py "$lsm" ../../line.png ;;
	waves)
		# Python of bench/wave makes the traces, once.
		made=${LSM_WAVE:-${XDG_CACHE_HOME:-$HOME/.cache}/lsm/wave}
		[ -e "$made/marmousi-streamer/config.toml" ] || sh ../wave/run.sh make.py marmousi-streamer -o "$made"
		"$venv/bin/python" waves.py "$lsm" "$made/marmousi-streamer" ../../waves.png
		;;
	*) "$venv/bin/python" kernel.py "$lsm" "$case" ;;
	esac
done
