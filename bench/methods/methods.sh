#!/bin/sh
# Compares methods: seconds, the residual relative to the data, and the
# error against the true reflectivity after one global scale.
#
#   bench/methods/methods.sh MODEL FOLDER [LSM SYNTH FLAGS]
#
# MODEL is a velocity model such as Marmousi; a survey over it is made in FOLDER.
# LSM names the program (lsm), ITERATIONS how many each method gets (10).
set -eu
model=$1 folder=$2
shift 2
lsm=${LSM:-lsm} n=${ITERATIONS:-10}
mkdir -p "$folder"
[ -e "$folder/config.toml" ] || "$lsm" synth --model "$model" -o "$folder" "$@"
config=$folder/config.toml

# number NAME: its value in the last line of JSON that has it.
number() { sed -n 's/.*"'"$1"'": *\([-+0-9.e]*\).*/\1/p' | tail -1; }

row() { # NAME COMMAND [SETTINGS]
	name=$1 command=$2
	shift 2
	image=$folder/$(echo "$name" | tr -d , | tr ' ' '-').h5
	rm -f "$image"
	before=$(date +%s.%N)
	out=$("$lsm" "$command" "$config" --json --set output.file="$image" "$@")
	after=$(date +%s.%N)
	residual=$(echo "$out" | number relative_residual)
	error=$("$lsm" compare --scale --json "$image" "$folder/reflectivity.h5" --tolerance 1e30 | number relative_l2)
	echo "$name|$before|$after|${residual:--}|$error" |
		awk -F'|' '{printf "%-28s %9.2f %10s %10.4f\n", $1, $3 - $2, $4 == "-" ? "-" : sprintf("%.4f", $4), $5}'
}

printf '%-28s %9s %10s %10s\n' method seconds residual error
row adjoint migrate
row cgls run --set solver.iterations="$n"
row 'cgls twice as long' run --set solver.iterations="$((2 * n))"
row 'matching filters' run --set solver.method=matching
row fista run --set solver.iterations="$n" --set solver.method=fista --set solver.sparsity="${SPARSITY:-1}"
row 'total variation' run --set solver.iterations="$n" --set solver.method=primal-dual \
	--set solver.penalty_scale=relative --set solver.total_variation="${VARIATION:-0.003}"
