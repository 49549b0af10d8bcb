#!/usr/bin/env bash
# The attack matrix through the real launcher: as root and as a normal user when we are root, else
# as the user we are. Rows: tests/attack/attacks_*.c, `attacker list` names them.
set -u
attacker=$BUILD/attack/attacker
sandbox=$BUILD/oarbank-sandbox
user=61006

# A run whose victim dies says so, fails and leaves nothing. The victim leads a process group of its own.
lost() {
	local at pid child code
	at=$(mktemp -d) || return 1
	TMPDIR=$at "$attacker" run "$sandbox" --quick >"$at.out" 2>&1 &
	pid=$!
	while kill -0 $pid 2>/dev/null; do
		for child in $(cat /proc/$pid/task/$pid/children 2>/dev/null); do
			[ "$(cut -d' ' -f5 "/proc/$child/stat" 2>/dev/null)" = "$child" ] && kill -KILL "$child"
		done
	done
	wait $pid
	code=$?
	if [ $code = 1 ] && grep -q "victim has died" "$at.out" && [ -z "$(ls -A "$at")" ]; then
		echo "ok - a run whose victim dies leaves nothing"
	else
		echo "not ok - a run whose victim dies leaves nothing"
		echo "# exit $code, left: $(ls -A "$at"), said: $(tail -n 1 "$at.out")"
	fi
	rm -rf "$at" "$at.out"
}
lost

if [ "$(id -u)" != 0 ]; then
	exec "$attacker" run "$sandbox"
fi

# The normal user reaches neither the checkout nor our folders, so it gets copies.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
chmod 0755 "$dir"
cp "$attacker" "$dir/attacker"
cp "$attacker" "$dir/setuid"
cp "$sandbox" "$dir/oarbank-sandbox"
chmod 0755 "$dir/attacker" "$dir/oarbank-sandbox"
chmod 4755 "$dir/setuid"

failed=0
"$attacker" run "$sandbox" || failed=1
cd / # a place both can stand in
env -u TMPDIR "$dir/attacker" run "$dir/oarbank-sandbox" --as $user --setuid "$dir/setuid" || failed=1
exit $failed
