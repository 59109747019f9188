#!/bin/sh
# roots.sh FOLDER: makes the bare systems FOLDER/amd64 and FOLDER/arm64 that try.sh tries packages in: Debian 12 with Python,
# the first with Open MPI too. It needs root's rights, debootstrap, Debian's keys and, for arm64, qemu-user-static.
set -eu
folder=$1
mkdir -p "$folder"
# In a container no service starts by itself, and so nobody has told the kernel to run programs for arm64 by qemu.
if [ "$(uname -m)" != aarch64 ] && [ ! -e /proc/sys/fs/binfmt_misc/qemu-aarch64 ]; then
	[ -e /proc/sys/fs/binfmt_misc/register ] || mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
	update-binfmts --enable qemu-aarch64
fi
debootstrap --variant=minbase --include=python3,python3-venv,openmpi-bin bookworm "$folder/amd64"
debootstrap --variant=minbase --arch=arm64 --include=python3,python3-venv bookworm "$folder/arm64"
