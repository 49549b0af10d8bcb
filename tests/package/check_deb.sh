#!/usr/bin/env bash
# The Debian packages in DIR are clean, hold what they should, and can be installed, used and purged.
# Prints TAP. usage: check_deb.sh DIR
set -u
cd "$(dirname "$0")/../.."
debs=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
bad=0
say() { # STATUS NAME
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2"
		bad=1
	fi
}
lintian --fail-on error,warning --suppress-tags bad-distribution-in-changes-file "$debs"/*.changes "$debs"/*.dsc >"$dir/lintian" 2>/dev/null
say $? "lintian has no error and no warning"
sed 's/^/# /' "$dir/lintian"
for deb in "$debs"/*_*.deb; do
	dpkg-deb -x "$deb" "$dir/root" || bad=1
done
missing=
for file in bin/oarbank-probe bin/oarbank-sandbox bin/oarbank-plan bin/oarbank-run bin/oarbank-egress share/man/man1/oarbank-probe.1.gz \
	share/man/man1/oarbank-plan.1.gz share/man/man5/oarbank-policy.5.gz share/man/man5/oarbank-module.5.gz share/bash-completion/completions/oarbank-probe \
	share/zsh/vendor-completions/_oarbank-probe share/fish/vendor_completions.d/oarbank-probe.fish include/oarbank-launch.h \
	share/oarbank-probe/report.schema.json share/doc/oarbank-probe/examples/oarbank.fact; do
	[ -e "$dir/root/usr/$file" ] || [ -L "$dir/root/usr/$file" ] || missing+=" $file"
done
[ -z "$missing" ]
say $? "the packages have every part$missing"
[ "$(find "$dir/root" -path '*/systemd/system/oarbank-report.*' | wc -l)" -eq 2 ]
say $? "and the report's service and timer"
libraries=$(objdump -p "$dir/root/usr/bin/oarbank-probe" | awk '$1 == "NEEDED" { print $2 }')
grep -q '^libbpf' <<<"$libraries"
say $? "the program takes the machine's libraries, not copies"
if command -v systemd-analyze >/dev/null; then
	systemd-analyze verify --man=no "$dir"/root/lib/systemd/system/oarbank-report.* docs/examples/*.service docs/examples/*.timer >"$dir/units" 2>&1
	code=$?
	[ $code -eq 0 ] && [ ! -s "$dir/units" ]
	say $? "systemd accepts the units and the examples"
	sed 's/^/# /' "$dir/units"
else
	echo "ok - systemd accepts the units # SKIP no systemd-analyze here"
fi
tests/package/install_deb.sh "$debs" || bad=1
exit $bad
