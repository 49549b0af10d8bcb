#!/usr/bin/env bash
# Install the packages in DEBS, use them, and purge them, in an overlay that is thrown away: of this
# machine's root, or of ROOT, where apt-get first installs what they need. Prints TAP.
# usage: install_deb.sh DEBS [ROOT]
set -u
cd "$(dirname "$0")/../.."
if [ "${1-}" != --inside ]; then
	why=
	if [ "$(id -u)" -ne 0 ]; then
		why="not root"
	elif dpkg-query --admindir="${2-}/var/lib/dpkg" -W -f '${Status}' oarbank-probe 2>/dev/null | grep -q ' installed'; then
		why="oarbank-probe is installed here"
	fi
	[ -n "$why" ] || why=$(unshare --mount --propagation private true 2>&1)
	if [ -z "$why" ]; then
		dir=$(mktemp -d)
		unshare --mount --propagation private -- "$0" --inside "$dir" "$@"
		code=$?
		rmdir "$dir"
		exit $code
	fi
	echo "ok - install, use and purge # SKIP $why"
	exit 0
fi

dir=$2
debs=$3
root=${4-/}
bad=0
say() { # STATUS NAME
	if [ "$1" -eq 0 ]; then
		echo "ok - $2"
	else
		echo "not ok - $2"
		tail -20 "$dir/log" | sed 's/^/# /'
		bad=1
	fi
}
inside() {
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive chroot "$dir/root" "$@" >"$dir/log" 2>&1
}

# What there is that ROOT does not have, and what it has and is gone; without what dpkg keeps for itself.
changed() {
	(cd "$dir/upper" && find . -mindepth 1 \( -path ./tmp -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache \) -prune -o -print) |
		while read -r path; do
			[ -d "$root/$path" ] && [ -d "$dir/upper/$path" ] || echo "$path"
		done | sort
}

mount -t tmpfs none "$dir" || exit 1
mkdir "$dir/root" "$dir/upper" "$dir/work"
if ! mount -t overlay overlay -o "lowerdir=$root,upperdir=$dir/upper,workdir=$dir/work" "$dir/root" 2>"$dir/log"; then
	echo "ok - install, use and purge # SKIP no overlay here: $(cat "$dir/log")"
	exit 0
fi
for place in proc sys dev; do
	mount --rbind /$place "$dir/root/$place"
done
mkdir "$dir/root/tmp/debs"
cp "$debs"/*_*.deb "$dir/root/tmp/debs"
rm -f "$dir"/root/tmp/debs/*-dbgsym_*

if [ "$root" != / ]; then
	mount --bind -o ro "$(realpath /etc/resolv.conf)" "$dir/root/etc/resolv.conf"
	needed=$(for deb in "$dir"/root/tmp/debs/*.deb; do dpkg-deb -f "$deb" Depends; done | tr , '\n' | grep -v liboarbank- | paste -sd ,)
	inside sh -c "apt-get -q update && apt-get -q satisfy -y --no-install-recommends '$needed'"
	say $? "what they need is installed: $needed"
fi
changed >"$dir/before"
# Triggers are other packages': the index of all manuals, for one.
inside sh -c 'dpkg --no-triggers -i /tmp/debs/*.deb'
say $? "the packages install"
inside dpkg -V oarbank-probe liboarbank-launch0 liboarbank-launch-dev && [ ! -s "$dir/log" ]
say $? "every file is as the packages have it"
inside sh -c 'oarbank-probe --json >/tmp/report && oarbank-probe audit /tmp/report'
say $? "the installed program reports, and audits its report"
echo '{"ro": ["/usr"], "net": "none"}' >"$dir/root/tmp/policy"
inside sh -c 'oarbank-run --policy /tmp/policy -- /usr/bin/oarbank-sandbox --version'
say $? "the installed launcher confines"
if [ -x "$dir/root/usr/bin/cc" ]; then
	cp tests/package/agent.c "$dir/root/tmp"
	inside sh -c 'cc -Wall -Werror -o /usr/bin/agent /tmp/agent.c -loarbank-launch && agent /tmp/policy /usr/bin/oarbank-plan' && grep -q '^exit_nonzero, verified' "$dir/log"
	say $? "an agent built with the installed library starts a module"
	rm -f "$dir/root/usr/bin/agent"
fi
inside dpkg --no-triggers --purge liboarbank-launch-dev liboarbank-launch0 oarbank-probe
say $? "they are purged"
changed >"$dir/after"
diff "$dir/before" "$dir/after" >"$dir/log"
say $? "and nothing is left"
exit $bad
