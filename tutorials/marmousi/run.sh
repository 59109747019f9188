#!/bin/sh
# run.sh DIR [MODEL]: the lesson from a velocity model to a report, in the new folder
# DIR. Without MODEL that of lsm synth faults stands in.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
model=${2:+$(cd "$(dirname "$2")" && pwd)/$(basename "$2")}
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

if [ -z "$model" ]; then
	lsm synth faults -o made
	model=made/true-model.h5
fi

lsm synth --model "$model" -o survey --geometry streamer --shots 32 --channels 72
lsm check config.toml
lsm run config.toml --json >run.log
lsm report image.h5 --log run.log -o report.html
lsm plot migrated.h5 image.h5 -o images.png
