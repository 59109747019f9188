#!/bin/sh
# run.sh DIR: the lesson from nothing to pictures, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

lsm synth points -o survey
lsm info survey/survey.h5
lsm check config.toml --dot-test
lsm migrate config.toml --set output.file=adjoint.h5
lsm run config.toml
lsm plot adjoint.h5 image.h5 -o images.png

# How far iterations come on traces that hold nothing but what an image explains.
lsm run config.toml --set solver.damping=0 --set solver.band=false --set data.weights=none --set solver.iterations=20 -o sharp.h5
lsm plot image.h5 sharp.h5 -o sharp.png
lsm plot sharp.h5 --convergence -o convergence.png
