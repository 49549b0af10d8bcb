#!/usr/bin/env bash
# `make check-package`: what `make deb` built is clean, holds what it should, and works unpacked.
set -u
cd "$(dirname "$0")/../.."
debs=${1-build}/deb
dir=$(mktemp -d)
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
lintian --fail-on error,warning --suppress-tags bad-distribution-in-changes-file "$debs"/*.changes >"$dir/lintian" 2>/dev/null
say $? "lintian has no error and no warning"
sed 's/^/# /' "$dir/lintian"
for deb in "$debs"/*_*.deb; do
	dpkg-deb -x "$deb" "$dir/root" || bad=1
done
for file in bin/oarbank-probe bin/oarbank-sandbox bin/oarbank-run share/man/man1/oarbank-probe.1.gz share/man/man1/oarbank-plan.1.gz \
	share/man/man5/oarbank-policy.5.gz share/bash-completion/completions/oarbank-probe share/zsh/vendor-completions/_oarbank-probe \
	share/fish/vendor_completions.d/oarbank-probe.fish include/oarbank-launch.h share/oarbank-probe/report.schema.json; do
	[ -e "$dir/root/usr/$file" ] || [ -L "$dir/root/usr/$file" ]
	say $? "the packages have $file"
done
units=$(find "$dir/root" -name 'oarbank-report.timer' | wc -l)
[ "$units" -eq 1 ]
say $? "and the timer of the report"
if command -v systemd-analyze >/dev/null; then
	systemd-analyze verify --man=no "$dir"/root/lib/systemd/system/oarbank-report.* docs/examples/*.service docs/examples/*.timer >"$dir/units" 2>&1
	code=$?
	[ $code -eq 0 ] && [ ! -s "$dir/units" ]
	say $? "systemd accepts the units and the examples"
	sed 's/^/# /' "$dir/units"
fi
"$dir/root/usr/bin/oarbank-probe" --json >"$dir/report" && "$dir/root/usr/bin/oarbank-probe" audit "$dir/report" >"$dir/page"
say $? "the packaged program reports, and audits its report"
exit $bad
