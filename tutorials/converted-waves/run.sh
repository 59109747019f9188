#!/bin/sh
# run.sh DIR: the lesson from nothing to pictures, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

# A line with offsets to one side, velocities of S waves, and traces of waves that are converted.
lsm synth faults -o line --geometry-only --geometry streamer --near-offset 400 --channels 40 --nt 500
lsm velocity line/survey.h5 -o s-velocity.h5 --at 0:1000,400:1150,1500:2100 --depth 1500 --spacing 25 --margin 1000
lsm model config.toml --set survey.file=line/survey.h5 --reflectivity line/reflectivity.h5 -o ps.h5

lsm check config.toml
lsm run config.toml
lsm plot line/reflectivity.h5 image.h5 -o images.png

# The same traces as if S waves came from the sources.
lsm run config.toml --set velocity.file=s-velocity.h5 --set velocity.receiver_file=line/model.h5 --set output.file=swapped.h5
lsm plot image.h5 swapped.h5 -o swapped.png
