#!/bin/sh
# run.sh DIR [SEGY]: the lesson from recorded shots to a picture, in the new folder DIR.
# Without SEGY a synthetic line is written as SEG-Y and stands in.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
line=${2:+$(cd "$(dirname "$2")" && pwd)/$(basename "$2")}
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" .

picks=0:1480,350:1480,2500:2780 # depth:velocity
if [ -z "$line" ]; then
	lsm synth layers -o made --geometry streamer --first-shot 2000 --shots 6 --shot-spacing 25 \
		--channels 60 --receiver-spacing 25 --near-offset 250
	lsm export made/survey.h5 -o line.sgy
	line=line.sgy picks=0:2000,1500:3300
fi

lsm import "$line" -o survey.h5 --ricker 20 --report quality
lsm plot survey.h5 --shot 0 -o shot.png
lsm velocity survey.h5 -o model.h5 --at $picks --depth 2000 --spacing 10
lsm check config.toml
lsm run config.toml
lsm plot migrated.h5 image.h5 -o images.png
lsm report image.h5 -o report.html
lsm export image.h5 -o image.sgy --line survey.h5
