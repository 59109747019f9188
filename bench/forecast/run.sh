#!/bin/sh
# Predicted and measured seconds of an iteration, for three surveys on 1 to 4 ranks of this
# machine. Prediction and run take turns; medians count.
# forecast/run.sh [FOLDER], default a temporary one. ROUNDS (3); RANKS (1 2 3 4).
set -eu
cd "$(dirname "$0")/../.."
lsm=$PWD/bin/lsm
rounds=${ROUNDS:-3} ranks=${RANKS:-1 2 3 4}
dir=${1:-}
if [ -z "$dir" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
fi
# More ranks than cores, and as root, with Open MPI; others do not mind.
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_hwloc_base_binding_policy=none

# synth NAME FLAGS makes a survey unless it is there.
synth() {
	[ -e "$dir/$1/config.toml" ] || $lsm synth "$@" -o "$dir/$1" --quiet >/dev/null
}
synth cube --lines 8 --shots 8 --channels 24 --receiver-lines 24
synth faults --shots 118 --first-shot 60 --shot-spacing 20 --channels 240 --receiver-spacing 10
# The line of bench/scale, of 12 km.
[ -e "$dir/12/s/config.toml" ] || python3 bench/scale/scale.py --lsm "$lsm" --folder "$dir" --lengths 12 --whole "" --runs 1 --iterations 1 >/dev/null

# number KEY prints what the JSON lines on standard input have under a key.
number() { sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p"; }
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
start() {
	n=$1
	shift
	if [ "$n" = 1 ]; then "$@"; else mpirun -n "$n" "$@"; fi
}

echo "| survey | ranks | measured, s | predicted, s | ratio |"
echo "|---|---|---|---|---|"
while read -r name survey options; do
	for n in $ranks; do
		: >"$dir/run" >"$dir/check"
		for _ in $(seq "$rounds"); do
			# shellcheck disable=SC2086
			set -- "$dir/$survey/config.toml" $options --json
			$lsm check "$@" --ranks "$n" | grep '"done"' | number seconds_per_iteration >>"$dir/check"
			start "$n" $lsm run "$@" --force --set solver.iterations=6 -o "$dir/image.h5" </dev/null |
				grep '"event":"iteration"' | number seconds | tail -n +2 >>"$dir/run"
		done
		for part in run check; do median <"$dir/$part"; done | paste -s -d ' ' |
			awk -v name="$name" -v n="$n" '{ printf "| %s | %s | %.3g | %.3g | %.2f |\n", name, n, $1, $2, $2 / $1 }'
	done
done <<EOF
line 12/s --set kirchhoff.aperture=3000
cube cube
faults faults --set kirchhoff.dynamic=true
EOF
