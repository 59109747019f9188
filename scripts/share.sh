#!/bin/sh
# share.sh install|remove PROGRAM FOLDER: puts lsm's manual pages, and its completions for bash, zsh
# and fish, into a folder as /usr/share, or removes them there. PROGRAM writes them.
set -eu
umask 022
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir -p "$made/bash-completion/completions" "$made/zsh/site-functions" "$made/fish/vendor_completions.d"
"$2" completion bash >"$made/bash-completion/completions/lsm"
"$2" completion zsh >"$made/zsh/site-functions/_lsm"
"$2" completion fish >"$made/fish/vendor_completions.d/lsm.fish"
"$2" manual "$made/man/man1"
gzip -9n "$made"/man/man1/*
(cd "$made" && find . -type f) | while read -r file; do
	case $1 in
	install)
		mkdir -p "$3/$(dirname "$file")"
		install -m 644 "$made/$file" "$3/$file"
		;;
	remove) rm -f "$3/$file" ;;
	esac
done
