#!/bin/sh
# release.sh VERSION: makes a release of the tree as it is: the part "Unreleased" of CHANGELOG.md
# becomes that of the version and of today, CITATION.cff names both, builds without git have the version, one commit has these
# changes, and the tag vVERSION is on it. Then it makes packages/: archives, packages, wheels, SBOM and checksums by make
# dist for the processors in ARCH (amd64 and arm64), and NOTES.md, the version's part of the changes. Nothing is pushed. VERSION is
# three numbers, such as 1.2.0, and higher than that of every tag. SOURCE_DATE_EPOCH sets the day. MAKE is make.
set -eu
cd "$(dirname "$0")/.."

fail() { printf 'lsm: release: %s\n' "$1" >&2; exit 2; }

version=${1:-}
echo "$version" | grep -Eq '^(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){2}$' || fail "version \"$version\", want three numbers, such as 1.2.0"
[ -z "$(git status --porcelain)" ] || fail "the tree has changes that are in no commit"
last=$(git tag --list 'v[0-9]*' | sed 's/^v//' | sort -V | tail -n 1)
if [ -n "$last" ] && [ "$(printf '%s\n%s\n' "$last" "$version" | sort -V | tail -n 1)" != "$version" ] || [ "$last" = "$version" ]; then
	fail "version $version, there is $last already"
fi
day=$(date -u ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"} +%Y-%m-%d)

awk '/^## Unreleased$/ { found = 1; next } found && /^## / { exit } found && /^- / { some = 1 } END { exit !some }' CHANGELOG.md ||
	fail "CHANGELOG.md has nothing under \"## Unreleased\""
sed -i.old "s/^## Unreleased\$/## Unreleased\n\n## $version, $day/" CHANGELOG.md
sed -i.old '/^version: /d; /^date-released: /d' CITATION.cff
printf 'version: %s\ndate-released: %s\n' "$version" "$day" >>CITATION.cff
# The version of builds that know no tag, such as those of an archive of the source.
sources="internal/provenance/provenance.go cmd/liblsm/internal/library/library.go python/setup.py"
# shellcheck disable=SC2086 # a list
sed -i.old "s/^\(\tversion = \|var version = \)\".*\"\$/\1\"$version+source\"/; s/or \"[0-9][^\"]*\",\$/or \"$version+source\",/" $sources
for name in CHANGELOG.md CITATION.cff $sources; do rm -f "$name.old"; git add "$name"; done
git commit -q -m "Version $version"
git tag -a "v$version" -m "lsm $version"
"${MAKE:-make}" dist ARCH="${ARCH:-amd64 arm64}"
awk -v head="## $version, " 'index($0, head) == 1 { found = 1; next } found && /^## / { exit } found' CHANGELOG.md >packages/NOTES.md
echo "v$version is on $(git rev-parse --short HEAD), its packages in packages/; make test, then: git push --follow-tags"
