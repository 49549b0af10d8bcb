#!/usr/bin/env bash
# The Debian packages, of the objects that make check has compiled; make check-package compiles its own.
set -u
cd "$(dirname "$0")/../.."
for tool in dpkg-buildpackage dh lintian; do
	command -v $tool >/dev/null || { echo "ok - Debian packages # SKIP no $tool here"; exit 0; }
done
build=${BUILD:-build}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# Older than the objects, so that make takes them as they are.
export SOURCE_DATE_EPOCH=1767225600 DEB_BUILD_OPTIONS=noautodbgsym
if env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make --no-print-directory -s deb B="$dir" BUILT="$build" DEB_FLAGS="-b -nc" >"$dir/log" 2>&1; then
	echo "ok - packages are built"
else
	echo "not ok - packages are built"
	sed 's/^/# /' "$dir/log"
	exit 1
fi
if grep -q -- ' -c -o ' "$dir/deb/build.log"; then
	echo "not ok - of what was compiled already"
else
	echo "ok - of what was compiled already"
fi
source=$(echo "$dir"/deb/oarbank-probe-*/)
rm -rf "$source"
tar -xf "$dir"/*.tar.gz -C "$dir/deb"
cp -a "$source/docs/debian" "$source/debian"
if (cd "$dir/deb" && dpkg-source -Zgzip -z1 --build "$source") >"$dir/log" 2>&1; then
	echo "ok - and a source package"
else
	echo "not ok - and a source package"
	sed 's/^/# /' "$dir/log"
fi
tests/package/check_deb.sh "$dir/deb"
