#!/bin/sh
# run.sh DIR: the lesson from nothing to pictures, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

lsm synth salt -o salt              # stands for a model of your own
lsm synth --model salt/true-model.h5 -o survey --geometry streamer \
	--shots 20 --channels 60 --frequency 20 --snr 3 --seed 1
lsm run config.toml
lsm plot survey/reflectivity.h5 image.h5 -o images.png

# The same run, told to stop after its first iteration (status 75), and resumed.
lsm run config.toml --set output.file=resumed.h5 >stopped.log 2>&1 & run=$!
until grep -q '^iter' stopped.log || ! kill -0 $run 2>/dev/null; do sleep 0.05; done
kill -TERM $run 2>/dev/null || true
wait $run || [ $? -eq 75 ]
[ -e resumed.h5 ] || lsm run config.toml --set output.file=resumed.h5 --resume
lsm compare image.h5 resumed.h5 --tolerance 0
