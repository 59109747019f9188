#!/bin/sh
# run.sh DIR: the lesson from nothing to tables and a plot, in the new folder DIR.
# MPIRUN names the launcher, GPUS=cuda or hip the engine. Where there is no GPU or no
# NCCL, ranks on processors stand in; without MPI, one process.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

# The launcher must be that of the MPI which lsm loads.
found=$(lsm doctor)
case $found in
*"mpi (Open MPI"*) names="mpirun.openmpi mpirun" ;;
*"mpi (MPICH"*) names="mpiexec.mpich mpiexec.hydra mpiexec" ;;
*"mpi ("*) names=mpiexec ;;
*) names= ;;
esac
ranks=
for name in ${names:+${MPIRUN:-$names}}; do
	if [ -z "$ranks" ] && command -v "$name" >/dev/null; then ranks="$name -n 2"; fi
done
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
if [ "$(id -u)" = 0 ]; then
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
backends="nccl mpi mpi-staged"
case $found in
*"engine cuda: GPU"*) ;;
*)
	echo "no NVIDIA GPU here: every run is one on processors"
	sed -i.gpu 's/^engine .*/engine = "cpu"/' config.toml
	backends=
	;;
esac
if [ -z "$ranks" ]; then
	echo "no MPI here: every run is one process"
	backends=${backends:+nccl}
fi

# Three configurations that differ in one line.
for backend in nccl mpi mpi-staged; do
	case " $backends " in *" $backend "*) use=$backend ;; *) use=auto ;; esac
	sed "s/^backend .*/backend = \"$use\"/" config.toml >$backend.toml
done

lsm synth points -o survey --shots 4 --channels 12
for backend in nccl mpi mpi-staged; do
	$ranks lsm run $backend.toml --set output.file=$backend.h5
done
lsm compare mpi.h5 nccl.h5 --tolerance 0
lsm compare mpi-staged.h5 nccl.h5 --tolerance 0

# The tables, the plot and the verdict.
$ranks lsm bench backends nccl.toml --last 1MiB --iterations 3 --plot backends.png >backends.txt
cat backends.txt
