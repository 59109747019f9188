#!/bin/sh
# A small migration from nothing to pictures: finite-difference traces of beds that two faults cut, their plain
# Kirchhoff image, their least-squares image, and both beside each other. demo.sh [FOLDER], default demo.
set -eu
cd "$(dirname "$0")/.."
lsm=bin/lsm
out=${1:-demo}

step() { printf '\n$ %s\n' "$*"; "$@"; }

mkdir -p "$out"
for name in config.toml survey.h5 model.h5 truth.h5; do cp "tutorials/least-squares/$name" "$out"; done
step $lsm info "$out/survey.h5"
step $lsm migrate "$out/config.toml" --force -o "$out/migrated.h5"
step $lsm run "$out/config.toml" --force
step $lsm plot "$out/migrated.h5" "$out/image.h5" -o "$out/images.png" --force
step $lsm plot "$out/truth.h5" -o "$out/truth.png" --force

cat <<EOF

Done. Look at
  $out/images.png       Kirchhoff image beside the least-squares image
  $out/truth.png        what they should show
  $out/image.h5         the image: try  $lsm info $out/image.h5
  $out/config.toml      the configuration to start from: try
                        $lsm help config
EOF
