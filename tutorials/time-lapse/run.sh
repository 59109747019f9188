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

lsm check config.toml
lsm run config.toml
lsm plot joint.h5 -o joint.png

# Without the penalty each survey is inverted for itself.
lsm run config.toml --set survey.monitor.difference_weight=0 -o separate.h5
lsm plot separate.h5 -o separate.png

# Both surveys with the velocity of the baseline.
lsm run config.toml --set survey.monitor.velocity_file= -o one-velocity.h5
lsm plot one-velocity.h5 -o one-velocity.png
