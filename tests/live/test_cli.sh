#!/usr/bin/env bash
# The command line of oarbank-probe: what it prints, where, and how it ends.
set -u
cd "$(dirname "$0")/../.."
probe=${BUILD:-build}/oarbank-probe
tree=tests/fake/trees/systemd-user
old=tests/fake/trees/no-landlock
modules=tests/golden/modules
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

ok() { echo "ok - $1"; }
not_ok() {
	echo "not ok - $1"
	sed 's/^/# out: /' "$dir/out" | head -5
	sed 's/^/# err: /' "$dir/err" | head -5
}

# expect NAME CODE STDERR-PATTERN ARGUMENT...: '' as pattern means nothing on stderr.
expect() {
	local name=$1 code=$2 pattern=$3 got
	shift 3
	"$probe" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	if [ "$got" -ne "$code" ]; then
		echo "# exit $got, expected $code"
		not_ok "$name"
	elif [ -z "$pattern" ] && [ -s "$dir/err" ]; then
		not_ok "$name: something on stderr"
	elif [ -n "$pattern" ] && ! grep -qE -- "$pattern" "$dir/err"; then
		not_ok "$name: stderr does not match '$pattern'"
	else
		ok "$name"
	fi
}
shows() { if grep -qE -- "$2" "$dir/out"; then ok "$1"; else not_ok "$1"; fi; }

expect "a page" 0 '' --root $tree
shows "the page names a capability with its mark" '✓ filesystem'
expect "help" 0 '' --help
shows "help lists the exit codes" '64 usage'
expect "version" 0 '' --version
shows "version is one line" '^oarbank-probe [0-9.]+$'
expect "an unknown option is usage" 64 "unknown option '--jsn'.*" --jsn
expect "usage says where help is" 64 "Try 'oarbank-probe --help'" --jsn
expect "two forms at once are usage" 64 '--sandbox does not go with --json' --json --sandbox
expect "a required capability that is there" 0 '' --root $tree --require ipc,filesystem
expect "a required capability that is not" 1 'required net.egress-any is unavailable' --root $tree --require net.egress-any
expect "without a backend nothing required is there" 1 'required filesystem is unavailable' --root $old --require filesystem
expect "a directory that is not there" 70 "open '/nonexistent': ENOENT" --root /nonexistent
expect "a file instead of a directory" 70 "ENOTDIR" --root Makefile
expect "a directory that is no recording" 70 'no recorded machine' --root tests
expect "explain" 0 '' --root $tree --explain ipc
shows "explain shows the evidence" 'observed'
shows "and the findings, with what to do" '^ +fix: a parent that connects'
expect "explain of questions with one answer" 0 '' --root tests/fake/trees/bare --explain limits.cpu
if [ "$(grep -c 'cgroup.controllers = ' "$dir/out")" -eq 1 ]; then ok "which is told once"; else not_ok "which is told once"; fi
expect "explain of an unknown name lists the names" 64 'there are filesystem' --explain nothing

expect "a manifest that is not there" 1 'nonexistent.toml' --root $tree --module nonexistent.toml
for bad in "$modules"/bad/*; do
	case $bad in
	*release*|*modules*) option=--modules ;;
	*) option=--module ;;
	esac
	expect "$bad is refused, the report is still written" 1 "$(basename "$bad")" --root $tree --json $option "$bad"
	shows "$bad is a line of the report" '"error":'
done
expect "a release with bad entries" 1 'modules.json' --root $tree --json --modules $modules/modules.json
shows "its good entries are reported" '"runs":true'

: >"$dir/empty"
expect "an empty manifest" 1 'empty' --root $tree --module "$dir/empty"
head -c 5000000 /dev/zero >"$dir/large.toml"
expect "a manifest that is too large" 1 'large.toml' --root $tree --module "$dir/large.toml"
expect "a directory as manifest" 1 'EISDIR' --root $tree --module "$dir"
printf 'a b c\n' >"$dir/kernel.calls"
expect "a recording that is not one" 70 "line 1" --root "$dir"

# What is not known is not called absent.
mkdir "$dir/unlisted"
printf 'list /dev = EACCES\nids = 1000 1000\n' >"$dir/unlisted/kernel.calls"
expect "a /dev that cannot be listed" 0 '' --root "$dir/unlisted"
shows "GPUs that were not looked for are not 'none found'" 'not all could be looked for: list /dev: EACCES'
shows "limits that are not known are not 'none'" 'limits for modules +unknown'
: >"$dir/unlisted/kernel.calls"
expect "a machine nobody knows anything of" 0 '' --root "$dir/unlisted" --json
shows "a user nobody knows has no number" '"uid":null'

# Output that cannot be written must not end well.
for form in --json --sandbox ""; do
	"$probe" --root $tree $form >/dev/full 2>"$dir/err" && code=0 || code=$?
	if [ $code -eq 70 ] && grep -q 'write standard output: ENOSPC' "$dir/err"; then ok "a full disk ${form:-page}"; else not_ok "a full disk ${form:-page}"; fi
	"$probe" --root $tree $form 2>"$dir/err" >&- && code=0 || code=$?
	if [ $code -eq 70 ]; then ok "a closed stdout ${form:-page}"; else not_ok "a closed stdout ${form:-page}"; fi
	mkfifo "$dir/pipe"
	(exec 3<"$dir/pipe"; exec 3<&-) &
	{ sleep 0.2; "$probe" --root $tree $form; echo $? >"$dir/code"; } 2>"$dir/err" >"$dir/pipe"
	wait
	rm "$dir/pipe"
	if [ "$(cat "$dir/code" 2>/dev/null)" = 70 ] && grep -q EPIPE "$dir/err"; then ok "a reader that went away ${form:-page}"; else not_ok "a reader that went away ${form:-page}"; fi
done
"$probe" --root $tree --json <&- 2>&- >"$dir/out" && code=0 || code=$?
: >"$dir/err"
if [ $code -eq 0 ] && [ "$(tail -c 2 "$dir/out")" = '}' ]; then ok "closed stdin and stderr"; else not_ok "closed stdin and stderr"; fi

"$probe" --root $tree --json --module - <&- >"$dir/out" 2>"$dir/err" && code=0 || code=$?
if [ $code -eq 1 ] && grep -q "read '-': EBADF" "$dir/err"; then ok "a manifest from a closed stdin"; else not_ok "a manifest from a closed stdin"; fi
for form in --json --sandbox ""; do
	(ulimit -f 0; exec "$probe" --root $tree $form >"$dir/short" 2>/dev/null) && code=0 || code=$?
	: >"$dir/err"
	if [ $code -eq 70 ]; then ok "a file that may not grow ${form:-page}"; else not_ok "a file that may not grow ${form:-page}: $code"; fi
done
# A pipe that somebody made non-blocking, slower than we are, and a manifest from another.
python3 - "$probe" $tree >"$dir/out" 2>"$dir/err" <<'EOF'
import fcntl, os, subprocess, sys, time
probe, tree = sys.argv[1:]
def pipe():
    ends = os.pipe()
    for end in ends:
        fcntl.fcntl(end, fcntl.F_SETFL, os.O_NONBLOCK)
    return ends
source, feed = pipe()
read, write = pipe()
fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 4096)
child = subprocess.Popen([probe, "--root", tree, "--json", "--module", "-"], stdin=source, stdout=write)
os.close(write)
time.sleep(0.1)
os.write(feed, b'[module]\nid = "org.example.slow"\n[requires]\nplatforms = ["linux-amd64"]\n')
os.close(feed)
time.sleep(0.1)
os.set_blocking(read, True)
whole = b"".join(iter(lambda: os.read(read, 1000), b""))
sys.stdout.buffer.write(whole)
sys.exit(child.wait() or not whole.endswith(b"}\n"))
EOF
if [ $? -eq 0 ]; then ok "non-blocking pipes"; else not_ok "non-blocking pipes"; fi
shows "the manifest from one is whole" '"name":"slow"'

SOURCE_DATE_EPOCH=0 "$probe" --root $tree --json >"$dir/a"
SOURCE_DATE_EPOCH=0 "$probe" --root $tree --json >"$dir/b"
if cmp -s "$dir/a" "$dir/b"; then ok "equal facts, equal bytes"; else not_ok "equal facts, equal bytes"; fi
SOURCE_DATE_EPOCH=soon "$probe" --root $tree --json >"$dir/out" 2>"$dir/err" && code=0 || code=$?
if [ $code -eq 70 ] && [ ! -s "$dir/out" ]; then ok "SOURCE_DATE_EPOCH must be a number"; else not_ok "SOURCE_DATE_EPOCH must be a number"; fi

# Colour only on a terminal.
if ! command -v script >/dev/null; then
	echo "ok - colour on a terminal # SKIP no script(1)"
elif ! why=$(script -qec true /dev/null 2>&1); then
	echo "ok - colour on a terminal # SKIP there is none to be had: $why"
else
	TERM=xterm script -qec "$probe --root $tree" /dev/null >"$dir/out" 2>"$dir/err"
	if grep -q $'\033\[32m' "$dir/out"; then ok "colour on a terminal"; else not_ok "colour on a terminal"; fi
	NO_COLOR=1 TERM=xterm script -qec "$probe --root $tree" /dev/null >"$dir/out" 2>"$dir/err"
	if grep -q $'\033' "$dir/out"; then not_ok "NO_COLOR"; else ok "NO_COLOR"; fi
fi
