#!/bin/sh
# Predicted and measured seconds of an iteration, for three surveys on 1 to 4 ranks of this
# machine: with a machine file, and measured by lsm check itself. Prediction and run take turns;
# medians count. A second table has a line, with an aperture and without, on all process grids:
# played by lsm bench solve --machine and measured by it. It compares the seconds of an iteration,
# the share of it that sums over ranks take without overlap, and the share of them that the overlap
# hides. Each round measures the machine anew.
# forecast/run.sh [FOLDER], default a temporary one. ROUNDS (3); RANKS (1 2 3 4) of the first table
# and PLAYED (2 4) of the second, an empty list leaves it out.
set -eu
cd "$(dirname "$0")/../.."
lsm=$PWD/bin/lsm
rounds=${ROUNDS:-3} ranks=${RANKS-1 2 3 4} played=${PLAYED-2 4}
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
[ -e "$dir/12/s/config.toml" ] || ${GO:-go} run ./bench/scale -lsm "$lsm" -o "$dir" -lengths 12 -whole 12 -runs 1 -iterations 1 >/dev/null

# measure N measures the machine on so many ranks.
measure() { start "$1" $lsm bench --machine-file "$dir/machine.toml" --force --quiet >/dev/null; }
# number KEY prints what the JSON lines on standard input have under a key.
number() { sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p"; }
median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
start() {
	n=$1
	shift
	if [ "$n" = 1 ]; then "$@"; else mpirun -n "$n" "$@"; fi
}

run_and_check() {
	measure 1
	echo "| survey | ranks | measured, s | with a file, s | ratio | without, s | ratio |"
	echo "|---|---|---|---|---|---|---|"
	while read -r name survey options; do
		for n in $ranks; do
			: >"$dir/run" >"$dir/file" >"$dir/here"
			for _ in $(seq "$rounds"); do
				# shellcheck disable=SC2086
				set -- "$dir/$survey/config.toml" $options --json
				$lsm check "$@" --ranks "$n" --machine "$dir/machine.toml" | grep '"done"' | number seconds_per_iteration >>"$dir/file"
				$lsm check "$@" --ranks "$n" | grep '"done"' | number seconds_per_iteration >>"$dir/here"
				start "$n" $lsm run "$@" --force --set solver.iterations=6 -o "$dir/image.h5" </dev/null |
					grep '"event":"iteration"' | number seconds | tail -n +2 >>"$dir/run"
			done
			for part in run file here; do median <"$dir/$part"; done | paste -s -d ' ' |
				awk -v name="$name" -v n="$n" '{ printf "| %s | %s | %.3g | %.3g | %.2f | %.3g | %.2f |\n", name, n, $1, $2, $2 / $1, $3, $3 / $1 }'
		done
	done <<EOF
line 12/s --set kirchhoff.aperture=3000
cube cube
faults faults --set kirchhoff.dynamic=true
EOF
}

# rows N prints of the rows of lsm bench solve on N ranks: grid, seconds, share of sums, share hidden.
rows() {
	grep "\"event\":\"solve\".*\"ranks\":$1," |
		sed 's/.*"grid":\[\([0-9]*\),\([0-9]*\)\].*"iteration_s":\([0-9.e+-]*\).*"waiting_without_overlap":\([0-9.e+-]*\).*"hidden":\([0-9.e+-]*\).*/\1×\2 \3 \4 \5/'
}
# column FILE GRID K prints the median of column K of the rows of a grid.
column() { grep "^$2 " "$1" | cut -d ' ' -f "$3" | median; }

play_and_measure() {
	echo "| survey | grid | iteration measured, s | played, s | ratio | sums measured, % | played, % | ratio | hidden measured, % | played, % |"
	echo "|---|---|---|---|---|---|---|---|---|---|"
	for n in $played; do
		for options in "" "--set kirchhoff.aperture=3000"; do
			: >"$dir/measured" >"$dir/played"
			for _ in $(seq "$rounds"); do
				# shellcheck disable=SC2086
				set -- "$dir/12/s/config.toml" --set machine.threads=1 $options --json
				measure "$n"
				$lsm bench solve "$@" --machine "$dir/machine.toml" --ranks "$n" | rows "$n" >>"$dir/played"
				start "$n" $lsm bench solve "$@" </dev/null | rows "$n" >>"$dir/measured"
			done
			for grid in $(cut -d ' ' -f 1 "$dir/played" | sort -u); do
				for k in 2 3 4; do
					column "$dir/measured" "$grid" "$k"
					column "$dir/played" "$grid" "$k"
				done | paste -s -d ' ' |
					awk -v name="line${options:+, aperture}" -v grid="$grid" '{ printf "| %s | %s | %.3g | %.3g | %.2f | %.1f | %.1f | %.2f | %.0f | %.0f |\n", name, grid, $1, $2, $2 / $1, 100 * $3, 100 * $4, $4 / ($3 > 0 ? $3 : 1), 100 * $5, 100 * $6 }'
			done
		done
	done
}

if [ -n "$ranks" ]; then run_and_check; fi
if [ -n "$ranks" ] && [ -n "$played" ]; then echo; fi
if [ -n "$played" ]; then play_and_measure; fi
