#!/bin/sh
# run.sh DIR: the lesson from a SEG-Y file to an image, in the new folder DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?give a folder to work in}" && cd "$1"
cp "$here/config.toml" "$here/survey.h5" .

# A survey of a wave equation stands in for a recorded line.
lsm export survey.h5 -o line.sgy

# From here on the line is all that is known.
lsm import line.sgy -o raw.h5 --ricker 20
lsm breaks raw.h5 -o breaks.csv
lsm statics raw.h5 --breaks breaks.csv -o first.csv
lsm process raw.h5 statics=first.csv mute=arrival,0.08,0.04,2000 -o moved.h5

# A first velocity, for shifts that reflections ask for.
lsm semblance moved.h5 -o first-rms.h5
lsm statics moved.h5 --velocity first-rms.h5 -o second.csv
lsm process moved.h5 statics=second.csv -o clean.h5

lsm semblance clean.h5 -o rms.h5 --stack stack.h5 --panels panels.png
lsm velocity rms.h5 --to interval --spacing 10 -o coarse.h5
lsm import --model coarse.h5 --resample 20,10 -o model.h5
lsm check config.toml
lsm run config.toml

# The same without static corrections.
lsm process raw.h5 mute=arrival,0.08,0.04,2000 -o recorded.h5
lsm run config.toml --set survey.file=recorded.h5 -o without.h5
lsm plot without.h5 image.h5 --window 800,4300,100,2000 -o images.png
lsm plot stack.h5 -o stack.png
