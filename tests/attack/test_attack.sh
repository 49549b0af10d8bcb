#!/usr/bin/env bash
# The attack matrix through the real launcher: as root and as a normal user when we are root, else
# as the user we are. Rows: tests/attack/attacks_*.c, `attacker list` names them.
set -u
attacker=$BUILD/attack/attacker
sandbox=$BUILD/oarbank-sandbox
user=61006

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
