#!/bin/sh
# Eight classes of offsets of a window of the image, by one Hessian and by eight solves:
# seconds, and how far the image of each class is from that of the Hessian's factor.
#
#   bench/classes/classes.sh MODEL FOLDER [LSM SYNTH FLAGS]
#
# MODEL is a velocity model such as Marmousi; a survey over it is made in FOLDER. The window
# has 64 x 64 points and is the whole image of both ways, so that both solve the same problem.
# The traces are those of the window's own reflectors, and in the traces of a class those of
# all others are zero. LSM names the program (lsm), X and Z the window's first point, m
# (5000, 1500), H the distance of points, m (10), LIMITS those of the classes, m, none of them
# the offset of a trace, ITERATIONS how many the
# longer solves get (200).
set -eu
here=$(dirname "$(realpath "$0")") model=$(realpath "$1") folder=$2
shift 2
lsm=${LSM:-lsm} x=${X:-5000} z=${Z:-1500} h=${H:-10} n=64 many=${ITERATIONS:-200}
limits=${LIMITS:-0 615 1115 1615 2115 2615 3115 3615 9005}
mkdir -p "$folder"
folder=$(realpath "$folder")
cd "$folder"

seconds() { # COMMAND...: how long it takes. It says the rest in a file.
	before=$(date +%s.%N)
	"$@" >said
	echo "$before $(date +%s.%N)" | awk '{printf "%.1f\n", $2 - $1}'
}

# Traces of the window's own reflectors, in own.h5.
export LSM_DATA_DEAD=keep
relative='--set solver.damping=0.01 --set solver.penalty_scale=relative'
[ -e config.toml ] || "$lsm" synth --model "$model" -o . "$@" >said
[ -e whole.h5 ] || "$lsm" run config.toml -o whole.h5 $relative >said
[ -e reflectors.h5 ] || "$lsm" target config.toml -o reflectors.h5 --image whole.h5 --cg $relative \
	--window "$x:$((x + h * (n - 1))),$z:$((z + h * (n - 1)))" >said
export LSM_IMAGE_ORIGIN="[$x.0,$z.0]" LSM_IMAGE_SPACING="[$h.0,$h.0]" LSM_IMAGE_SHAPE="[$n,$n]"
[ -e own.h5 ] || "$lsm" model config.toml --reflectivity reflectors.h5 -o own.h5 >said

# One weight for all: a relative one would be measured anew with the traces of each class.
LSM_SOLVER_DAMPING=$("$lsm" run config.toml -o scale.h5 --force --set survey.file=own.h5 --set solver.iterations=1 $relative |
	sed -n 's/^.*damping: weight \([-+0-9.e]*\),.*/\1/p')
export LSM_SOLVER_DAMPING LSM_SOLVER_TOLERANCE=0
rm -f class-*.h5 migrated.h5 target*.h5 image-*.h5

# One Hessian: the classes migrated, and their right sides solved for.
gathers="--set image.gathers=offset --set image.gather_bins=[$(echo "$limits" | tr ' ' ,)]"
migrate=$(seconds "$lsm" migrate config.toml --set survey.file=own.h5 $gathers -o migrated.h5)
target=$(seconds "$lsm" target config.toml --set survey.file=own.h5 --window :,: --rhs migrated.h5 -o target.h5)
conjugate=$(seconds "$lsm" target config.toml --set survey.file=own.h5 --window :,: --rhs migrated.h5 --cg -o target-cg.h5)

# A solve for each class, of many iterations and of ten.
rm -f seconds-*
class=0
set -- $limits
while [ $# -gt 1 ]; do
	# A mute down to the end of the record at all offsets but those from $1 to $2.
	"$lsm" process own.h5 "mute=top,$1:1e3;$1.5:-1;$2:-1;$2.5:1e3,0" -o "class-$class.h5" >said
	for count in "$many" 10; do
		seconds "$lsm" run config.toml --set survey.file="class-$class.h5" --set solver.iterations="$count" \
			-o "image-$count-$class.h5" >>"seconds-$count"
	done
	shift
	class=$((class + 1))
done

printf '%-44s %8s\n' '' seconds
printf '%-44s %8s\n' 'classes migrated' "$migrate" 'Hessian, factor, resolution, all classes' "$target" \
	'Hessian, block CG, all classes' "$conjugate"
for count in "$many" 10; do
	awk -v count="$count" -v first="$migrate" -v second="$target" '
		{s += $1}
		END {printf "%-44s %8.1f, %.1f times both of the first two\n", NR " solves of " count " iterations", s, s / (first + second)}
	' "seconds-$count"
done
cd "$here"
echo
echo 'difference of each class from the image of the factor'
for count in "$many" 10; do
	printf '%-20s' "$count iterations"
	go run . "$folder/target.h5" $(seq -f "$folder/image-$count-%.0f.h5" 0 $((class - 1)))
done
printf '%-20s' 'block CG'
go run . "$folder/target.h5" "$folder/target-cg.h5"
