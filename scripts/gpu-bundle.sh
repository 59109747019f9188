#!/bin/sh
# gpu-bundle.sh FOLDER: packs what proves the GPU engines on a machine that has a driver and
# nothing else: prove.sh, and payload.tgz with the program, the operator's tests and the libraries
# that they load, without those of glibc and of the GPU; and more.txz with MPICH and the other
# tests, for which there is room only so. A machine without xz and Python does without
# them. PACKAGES names the packages whose tests are packed. Run by make gpu-bundle, which sets LDFLAGS and GO.
set -eu
cd "$(dirname "$0")/.."
folder=$1
most=$((51 << 20)) # bytes; with the tree as an archive, 12 MiB, less than 64 MiB
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/lib" "$work/peers" "$work/more/bin" "$work/more/lib" "$folder"
rm -f "$folder/more.txz"
if [ -z "${PACKAGES:-}" ]; then
	for p in device/driver device/gpu imaging kirchhoff/gpu traveltime/gpu comm/nccl internal/pipeline; do
		if [ -d "$p" ]; then PACKAGES="${PACKAGES:-} $p"; fi
	done
fi

. scripts/relocate.sh
link="${LDFLAGS:-} $link_flags"

# Not position-independent, which would be a tenth larger.
"${GO:-go}" build -buildmode=exe -ldflags "$link" -o "$work/bin/lsm" ./cmd/lsm
# MPICH alone: its launcher is two programs that run from any folder.
mpi=none more=none
if command -v xz >/dev/null; then more=xz; fi
library=$(PATH="$PATH:/sbin" ldconfig -p | awk '$1 == "libmpich.so.12" { print $NF; exit }')
if [ "${MPI:-}" != none ] && [ -n "$library" ] && command -v mpiexec.hydra >/dev/null && [ $more = xz ]; then
	mpi=mpich
	cp -L "$library" "$work/more/lib/"
	cp -L "$(command -v mpiexec.hydra)" "$(command -v hydra_pmi_proxy)" "$work/more/bin/"
	copy_libraries "$work/more/lib" "$work"/more/bin/* "$work"/more/lib/*
fi

for p in $PACKAGES; do
	name=$(echo "$p" | tr / -)
	"${GO:-go}" test -c -buildmode=exe -ldflags "$link" -o "$work/bin/$name.test" "./$p"
done
# Of the solver's tests only those that need a GPU.
awk '/^func Test/ { sub(/\(.*/, "", $2); test = $2 } /gputest\.Need\(/ && test != "TestMain" { print test }' internal/pipeline/*_test.go |
	sort -u | paste -sd '|' >"$work/bin/internal-pipeline.run"

copy_libraries "$work/lib" "$work"/bin/* "$work"/lib/*
if [ $more = xz ]; then
	for test in "$work"/bin/*.test; do
		case $test in */kirchhoff-gpu.test) ;; *) mv "$test" "$work/more/bin/" ;; esac
	done
fi
cp bench/peers/cards.py bench/peers/problem.py "$work/peers/"

tar -C "$work" -c bin lib peers | gzip -9 >"$folder/payload.tgz"
[ $more = none ] || tar -C "$work/more" -c bin lib | xz -9 >"$folder/more.txz"
cp scripts/prove.sh "$folder/"
size=$(cat "$folder"/* 2>/dev/null | wc -c)
if [ $size -gt $most ]; then
	echo "gpu-bundle: $folder has $size bytes, want at most $most" >&2
	exit 1
fi
[ $mpi != none ] || echo "gpu-bundle: no MPICH or no xz here: two ranks are tried by the MPI of the machine with the GPU, if it has one" >&2
echo "$folder: $((size >> 20)) MiB, MPI $mpi; on a machine with a GPU: $folder/prove.sh"
