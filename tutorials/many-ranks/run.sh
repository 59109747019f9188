#!/bin/sh
# run.sh DIR: the lesson from nothing to equal images, in the new folder DIR.
# MPIRUN names the launcher. Without MPI one process with as many threads stands in for the ranks.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

# The launcher must be that of the MPI which lsm loads.
case $(lsm doctor) in
*"mpi (Open MPI"*) names="mpirun.openmpi mpirun" ;;
*"mpi (MPICH"*) names="mpiexec.mpich mpiexec.hydra mpiexec" ;;
*"mpi ("*) names=mpiexec ;;
*) names= ;;
esac
mpirun=
if [ -z "$names" ]; then
	echo "there is no MPI here: one process each time, with threads instead of ranks"
else
	for name in ${MPIRUN:-$names}; do
		if [ -z "$mpirun" ] && command -v "$name" >/dev/null; then mpirun=$name; fi
	done
	[ -n "$mpirun" ] || echo "no launcher here: one process each time, with threads instead of ranks"
fi
# Open MPI counts cores and refuses more ranks than that, and it refuses root, who
# is the only user in many containers.
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
if [ "$(id -u)" = 0 ]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# migrate RANKS GRID FILE
migrate() {
	echo
	if [ -n "$mpirun" ]; then
		echo "$3: $1 ranks, grid $2"
		$mpirun -n "$1" lsm run config.toml --set machine.threads=1 --set comm.grid="$2" --set output.file="$3"
	else
		echo "$3: one process, $1 threads"
		lsm run config.toml --set machine.threads="$1" --set output.file="$3"
	fi
}

lsm synth faults -o survey --shots 16
lsm run config.toml --set output.file=one.h5
migrate 2 2,1 two.h5
migrate 4 4,1 shots.h5
migrate 4 2,2 both.h5
migrate 4 1,4 blocks.h5
for image in two shots both blocks; do
	echo
	lsm compare $image.h5 one.h5 --tolerance 0
done
lsm plot one.h5 both.h5 -o images.png
