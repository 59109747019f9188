#!/bin/sh
# run.sh DIR: the lesson from nothing to pictures, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

lsm synth cube -o survey --set kirchhoff.dynamic=true --set 'kirchhoff.angle_limit=[50, 70]' --set kirchhoff.spreading=distance
lsm migrate config.toml --set kirchhoff.dynamic=false --set output.file=static.h5
lsm run config.toml
lsm plot image.h5 -o image.png

lsm migrate config.toml --set output.file=cpu.h5
LSM_KIRCHHOFF_ENGINE=reference lsm migrate config.toml --set output.file=reference.h5
lsm compare cpu.h5 reference.h5 --tolerance 2e-5
