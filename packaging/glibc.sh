#!/bin/sh
# glibc.sh VERSION FILE...: fails if a program or library needs a glibc newer than VERSION, and
# says for what.
set -eu
limit=$1
shift
for file; do
	objdump -T "$file" >/dev/null
	objdump -T "$file" | awk -v file="$file" -v limit="$limit" '
		function number(text, parts) { split(text, parts, "."); return parts[1] * 1000000 + parts[2] * 1000 + parts[3] }
		/\*UND\*/ && match($0, /GLIBC_[0-9.]+/) {
			version = substr($0, RSTART + 6, RLENGTH - 6)
			if (number(version) > number(limit)) {
				printf "lsm: glibc: %s needs %s of glibc %s, and may need %s at most\n", file, $NF, version, limit
				bad = 1
			}
		}
		END { exit bad }' >&2
done
