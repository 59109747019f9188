#!/bin/sh
# A small migration from nothing to pictures: a synthetic survey over faulted
# layers, its least-squares image, its plain Kirchhoff image, and both side by
# side. demo.sh [FOLDER], default demo.
set -eu
cd "$(dirname "$0")/.."
lsm=bin/lsm
out=${1:-demo}

step() { printf '\n$ %s\n' "$*"; "$@"; }

step $lsm synth faults -o "$out" --force
step $lsm run "$out/config.toml" --force
step $lsm migrate "$out/config.toml" --force --set output.file="$out/adjoint.h5"
step $lsm plot "$out/adjoint.h5" "$out/image.h5" -o "$out/images.png" --force
step $lsm plot "$out/image.h5" --convergence -o "$out/convergence.png" --force

cat <<EOF

Done. Look at
  $out/images.png       Kirchhoff image beside the least-squares image
  $out/convergence.png  residual and gradient of each iteration
  $out/image.h5         the image: try  $lsm info $out/image.h5
  $out/config.toml      the configuration to start from: try
                        $lsm help config
EOF
