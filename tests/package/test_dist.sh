#!/usr/bin/env bash
# The tarball is the same bytes each time, of whoever makes it, and complete; install and uninstall.
set -u
cd "$(dirname "$0")/../.."
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
build=${BUILD:-build}
bad=0
say() { # STATUS NAME
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2"
		tail -5 "$dir/log" | sed 's/^/# /'
		bad=1
	fi
}
quiet() { env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make --no-print-directory "$@" >"$dir/log" 2>&1; }
export SOURCE_DATE_EPOCH=1767225600
quiet -s dist B="$dir/a"
say $? "a tarball is made"
(umask 077 && quiet -s dist B="$dir/b")
cmp -s "$dir"/a/*.tar.gz "$dir"/b/*.tar.gz
say $? "twice, under another umask: the same bytes"
mkdir "$dir/src"
tar -xf "$dir"/a/*.tar.gz -C "$dir/src"
src=$(echo "$dir"/src/*)
[ -x "$src/tests/run" ] && [ -f "$src/docs/package.mk" ] && [ -f "$src/tests/fake/trees/bare/kernel.calls" ] && [ ! -e "$src/build" ]
say $? "it has the sources, programs executable, and nothing that was built"
(cd "$src" && quiet -s dist B="$dir/c")
cmp -s "$dir"/a/*.tar.gz "$dir"/c/*.tar.gz
say $? "a tarball made of the tarball, without git: the same bytes"

# Under make check everything is built already.
quiet -s install B="$build" DESTDIR="$dir/root" PREFIX=/usr
say $? "install"
missing=
for file in bin/oarbank-probe bin/oarbank-sandbox share/man/man1/oarbank-probe.1 share/man/man5/oarbank-report.5 share/man/man5/oarbank-module.5 \
	share/bash-completion/completions/oarbank-probe share/zsh/site-functions/_oarbank-probe share/fish/completions/oarbank-probe.fish \
	share/doc/oarbank-probe/examples/oarbank.fact share/doc/oarbank-probe/examples/oarbank-agent.service.example \
	share/man/man1/oarbank-run.1 share/man/man1/oarbank-egress.1 share/oarbank-probe/report.schema.json; do
	[ -s "$dir/root/usr/$file" ] || missing+=" $file"
done
[ -z "$missing" ]
say $? "every part is there$missing"
"$dir/root/usr/bin/oarbank-probe" --version >"$dir/log" 2>&1
say $? "the installed program starts"
quiet -s uninstall B="$build" DESTDIR="$dir/root" PREFIX=/usr
left=$(find "$dir/root" -type f -o -type l | head -5)
[ -z "$left" ]
say $? "uninstall leaves nothing $left"
exit $bad
