#!/bin/sh
# Runs every fuzz target of the module for a while: fuzz.sh [TIME], default 10s.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
time=${1:-10s}
found=0
for dir in $(grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | xargs -r -n1 dirname | sort -u); do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]+' "$dir"/*_test.go | sed 's/^func //' | sort -u); do
		echo "== $dir $target"
		"$GO" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 5x "$dir"
		found=$((found + 1))
	done
done
echo "$found fuzz targets, $time each: nothing found"
