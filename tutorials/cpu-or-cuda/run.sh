#!/bin/sh
# run.sh DIR: the lesson from nothing to equal images, in the new folder DIR. Without
# a GPU the engine "reference" stands in for it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

case $(lsm doctor) in
*"engine cuda: GPU"*) other=cuda ;;
*"engine hip: GPU"*) other=hip ;;
*) other=reference && echo "no GPU here: engine reference stands in for it" ;;
esac

lsm synth points -o survey --shots 5 --channels 16
lsm run config.toml --set output.file=cpu.h5
lsm run config.toml --set kirchhoff.engine=$other --set output.file=other.h5
lsm compare other.h5 cpu.h5 --tolerance 1e-4
lsm plot cpu.h5 other.h5 -o images.png
for engine in cpu $other; do
	lsm bench kernel --engine $engine --sources 4 --receivers 16 --shape 101,51 --samples 500 --runs 3
done
