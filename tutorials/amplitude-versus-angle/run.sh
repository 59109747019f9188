#!/bin/sh
# run.sh DIR: the lesson from nothing to pictures, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

lsm synth ava -o survey
lsm run config.toml
lsm plot image.h5 --gather 1000,1200,1400 -o gathers.png

measure() {
	lsm ava image.h5 --depth 600,900,1200 --at 1200 --around 200 --angles 5,30 \
		--expected 0.0382,-0.1180,-0.0567,-0.1290,0.0610,-0.1562 "$@"
}
measure -o ava.png
measure --json > ava.json
