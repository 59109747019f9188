#!/bin/sh
# run.sh DIR: the lesson from a SEG-Y file to a report, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" "$here/gathers.toml" .

# A synthetic line stands in for a recorded one: noise, a dead trace, a reversed
# one, and the last shot (72 traces of 240 + 4·325 bytes) twice on the tape.
lsm synth faults -o made --snr 3 --seed 1
lsm process made/survey.h5 kill=700 flip=1311 -o made/field.h5
lsm export made/field.h5 -o made/line.sgy
tail -c $((72 * 1540)) made/line.sgy | cat made/line.sgy - >line.sgy

# From here on the line is all that is known.
lsm import line.sgy -o raw.h5 --ricker 15 --keep-dead --report quality
lsm plot raw.h5 --shot 20 -o shot.png

# Status 3: the survey is not ready. The table says why.
lsm ready raw.h5 --list faults.csv || [ $? -eq 3 ]

printf '%s\n' '0 0.04' '1500 0.64' >mute.txt # offset, time
lsm process raw.h5 flip=1311 bandpass=3,6,40,55 mute=top,mute.txt -o clean.h5
lsm ready clean.h5

lsm wavelet clean.h5 --phase zero --length 0.16 -o wavelet.h5 --picture wavelet.png
lsm velocity clean.h5 -o start.h5 --at 0:1850,1500:3000 --depth 1500 --spacing 10 --margin 40
lsm loop gathers.toml -n 2 -o loops

lsm check config.toml
lsm run config.toml --json >run.log
lsm report image.h5 --log run.log -o report.html
lsm plot image.h5 --under loops/final.h5 -o image.png

# The same with the velocity of the two picks.
lsm run config.toml --set velocity.file=start.h5 --set output.file=image-start.h5 \
	--set output.adjoint= --set output.residual=
lsm plot image-start.h5 image.h5 -o images.png
