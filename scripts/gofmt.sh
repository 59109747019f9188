#!/bin/sh
# Fails, and names the files, where gofmt would change something.
set -eu
cd "$(dirname "$0")/.."
gofmt=$("${GO:-go}" env GOROOT)/bin/gofmt
[ -x "$gofmt" ] || gofmt=gofmt
files=$(find . -name '*.go' -not -path './.git/*' -not -path './.whl/*' -exec "$gofmt" -l {} +)
[ -z "$files" ] && exit 0
echo "gofmt would change:" >&2
echo "$files" >&2
echo "hint: gofmt -w $(echo $files)" >&2
exit 1
