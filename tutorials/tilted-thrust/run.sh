#!/bin/sh
# run.sh DIR: the lesson from nothing to pictures, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

lsm synth thrust -o thrust
lsm check config.toml
lsm run config.toml
lsm plot migrated.h5 image.h5 -o images.png

# The same with waves that are as fast in every direction as along the axis.
lsm run config.toml --set velocity.anisotropy=none --set output.file=isotropic.h5 --set output.adjoint=migrated-isotropic.h5
lsm plot isotropic.h5 image.h5 -o anisotropy.png
