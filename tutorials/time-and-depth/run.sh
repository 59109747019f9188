#!/bin/sh
# run.sh DIR: the lesson from nothing to pictures, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" "$here/time.toml" .

lsm synth salt -o salt
lsm run config.toml

lsm velocity salt/model.h5 -o rms.h5 --to rms --interval 0.004
lsm run time.toml

# Both on two-way time, and both on depth.
lsm convert depth.h5 --velocity salt/model.h5 --to time --spacing 0.004 -o depth-in-time.h5
lsm plot depth-in-time.h5 time.h5 -o times.png
lsm convert time.h5 --velocity salt/model.h5 --to depth --spacing 10 -o time-in-depth.h5
lsm plot depth.h5 time-in-depth.h5 -o depths.png
lsm export time.h5 -o time.sgy
