#!/bin/sh
# run.sh DIR: the lesson from a survey in 3-D to its velocity, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" "$here/survey.h5" "$here/model.h5" .

lsm info survey.h5
lsm velocity survey.h5 -o start.h5 --at 0:1640,800:2050 --depth 800 --spacing 20 --margin 40
lsm loop config.toml -n 1 -o loops --every 80
lsm plot loops/final.h5 model.h5 -o velocity.png
lsm plot loops/loop-0/image.h5 loops/loop-1/image.h5 -o images.png
