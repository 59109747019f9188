#!/bin/sh
# run.sh DIR: the lesson from a survey to pictures, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" "$here/survey.h5" "$here/model.h5" "$here/truth.h5" .

lsm info survey.h5
lsm check config.toml --arrivals weak.png
lsm migrate config.toml -o migrated.h5
lsm run config.toml -o first.h5
lsm run config.toml --set traveltime.method=rays
lsm plot migrated.h5 first.h5 --window 500,3500,900,1750 -o first.png
lsm plot image.h5 truth.h5 --window 500,3500,900,1750 -o later.png
lsm plot first.h5 image.h5 -o whole.png
