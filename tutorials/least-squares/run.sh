#!/bin/sh
# run.sh DIR: the lesson from a survey to pictures, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" "$here/survey.h5" "$here/model.h5" "$here/truth.h5" .

lsm info survey.h5
lsm check config.toml
lsm migrate config.toml -o migrated.h5
lsm run config.toml --set image.halves=true
lsm plot migrated.h5 image.h5 -o images.png
lsm plot image.h5 --field agreement -o agreement.png

# What iterations do that are not held back.
lsm run config.toml --set solver.damping=0 --set solver.band=false --set data.weights=none --set solver.iterations=20 -o plain.h5
lsm plot plain.h5 truth.h5 -o truth.png
