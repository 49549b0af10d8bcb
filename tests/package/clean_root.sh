#!/usr/bin/env bash
# Install, use and purge the packages in DEBS in a clean Debian of the release that this machine runs.
# Prints TAP. usage: clean_root.sh DEBS
set -u
debs=$1
why=
[ "$(id -u)" -eq 0 ] || why="not root"
command -v debootstrap >/dev/null || why="no debootstrap here"
. /etc/os-release
[ "$ID" = debian ] || why="this is not Debian"
if [ -n "$why" ]; then
	echo "ok - packages in a clean Debian # SKIP $why"
	exit 0
fi
root=$(realpath "$debs")/root
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $VERSION_CODENAME" 'Component: main' | head -1)
if ! debootstrap --variant=minbase "$VERSION_CODENAME" "$root" "$mirror" >"$debs/debootstrap.log" 2>&1; then
	echo "not ok - a clean Debian is made"
	tail -5 "$debs/debootstrap.log" | sed 's/^/# /'
	exit 1
fi
echo "ok - a clean Debian is made"
cp -a /etc/apt/. "$root/etc/apt"
"$(dirname "$0")/install_deb.sh" "$debs" "$root"
code=$?
rm -rf "$root"
exit $code
