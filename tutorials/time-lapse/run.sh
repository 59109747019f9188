#!/bin/sh
# run.sh DIR: the lesson from nothing to pictures, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

# Other shots, other cables, other noise.
lsm synth faults -o baseline --snr 0.7 --shots 30 --shot-spacing 80
lsm synth produced -o monitor --snr 0.7 --seed 2 --shots 20 --shot-spacing 120 --first-shot 630 --channels 60 --near-offset 60
lsm plot baseline/reflectivity.h5 monitor/reflectivity.h5 --difference -o truth.png

# Waves are faster where gas has gone.
lsm run config.toml
lsm run config.toml --set survey.file=monitor/survey.h5 --set velocity.file=monitor/model.h5 -o monitor.h5
lsm plot baseline.h5 monitor.h5 --difference -o difference.png

# Both surveys with the velocity of the baseline.
lsm run config.toml --set survey.file=monitor/survey.h5 -o one-velocity.h5
lsm plot baseline.h5 one-velocity.h5 --difference -o one-velocity.png
