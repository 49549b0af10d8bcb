#!/usr/bin/env bash
# A system whose /opt is a link to where the agent keeps its work, as on image-based distributions:
# what was written there is not executed. Needs a root directory of its own, so only root tries.
set -u
name="deny_exec_work_below_opt_link (root)"
[ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null || { echo "ok - $name # SKIP no mount namespace"; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf --one-file-system "$dir"' EXIT
mkdir -p "$dir"/{usr,etc,proc,dev} "$dir/var/opt/work"
for link in bin sbin lib lib64; do
	[ -d "/usr/$link" ] && ln -s "usr/$link" "$dir/$link"
done
cp "$BUILD/oarbank-sandbox" "$dir/"
echo '{"rw":["/var/opt/work"]}' >"$dir/policy"
# attempt OPT: with /opt as a folder (the control) or as the link
attempt() {
	rm -rf "$dir/opt"
	if [ "$1" = link ]; then ln -s var/opt "$dir/opt"; else mkdir "$dir/opt"; fi
	unshare -m bash -c 'for d in usr etc proc dev; do mount --rbind /$d "$0/$d"; done
		chroot "$0" /oarbank-sandbox sandbox-exec /policy -- /bin/sh -c \
			"rm -f /var/opt/work/e; cp /bin/true /var/opt/work/e && { /var/opt/work/e || exit 99; }"' "$dir" 2>/dev/null
}
attempt folder
control=$?
attempt link
code=$?
if [ $control != 99 ]; then
	echo "ok - $name # SKIP the control ended with $control"
elif [ $code = 99 ] || [ $code = 70 ]; then
	echo "ok - $name"
else
	echo "not ok - $name"
	echo "# what was written below the link's target was executed (exit $code)"
	exit 1
fi
