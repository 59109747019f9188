#!/bin/sh
# run.sh DIR: the lesson from nothing to pictures, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

lsm synth land -o land --snr 3 --seed 1
lsm check config.toml
lsm run config.toml
lsm plot migrated.h5 image.h5 -o images.png
