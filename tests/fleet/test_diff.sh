#!/usr/bin/env bash
# oarbank-probe diff and --assume-*: what they say, and how they end.
set -u
cd "$(dirname "$0")/../.."
probe=${BUILD:-build}/dev/oarbank-probe
trees=tests/fake/trees
modules=tests/golden/modules
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

ok() { echo "ok - $1"; }
not_ok() {
	echo "not ok - $1"
	sed 's/^/# out: /' "$dir/out" | head -5
	sed 's/^/# err: /' "$dir/err" | head -5
}
# expect NAME CODE ARGUMENT...
expect() {
	local name=$1 code=$2 got
	shift 2
	"$probe" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	if [ "$got" -eq "$code" ]; then ok "$name"; else echo "# exit $got, expected $code"; not_ok "$name"; fi
}
# Lines are joined: where they break is layout.
flat() { tr -s ' \n' ' ' <"$1"; }
shows() { if flat "$dir/out" | grep -qE -- "$2"; then ok "$1"; else not_ok "$1"; fi; }
hides() { if flat "$dir/out" | grep -qE -- "$2"; then not_ok "$1"; else ok "$1"; fi; }
says() { if grep -qE -- "$2" "$dir/err"; then ok "$1"; else not_ok "$1"; fi; }

"$probe" --json --root $trees/systemd-user --module $modules/egress.toml >"$dir/a"
SOURCE_DATE_EPOCH=1 "$probe" --json --root $trees/systemd-user --module $modules/egress.toml >"$dir/later"
"$probe" --json --root $trees/no-landlock --module $modules/egress.toml >"$dir/b"
"$probe" --json --no-trials >"$dir/live1"
"$probe" --json --no-trials >"$dir/live2"

expect "the same report" 0 diff "$dir/a" "$dir/a"
shows "says so" 'nothing changed'
expect "another time is no change" 0 diff "$dir/a" "$dir/later"
expect "two reports of this node" 0 diff "$dir/live1" "$dir/live2"
expect "two nodes differ" 1 diff "$dir/a" "$dir/b"
shows "a capability, in words" '✗ ipc +unavailable, was enforced: the kernel has no Landlock'
shows "one whose name begins like another's" '✗ ipc\.broker +unavailable, was cooperative: the kernel has no Landlock'
shows "a module" 'module fetch +no longer runs here'
shows "a finding that is gone" 'broker_not_exclusive +gone'
shows "the kernel" '· kernel +6\.12\.95.* -> 5\.10'
shows "a member of a capability, in words" '· ipc, remedy '
shows "of a module" '· module fetch, first kernel that would do +none -> 6\.12'
shows "of a fact of the kernel" '· landlock, ABI, the answer '
sed 's/"text":"/&Now: /g' "$dir/a" >"$dir/worded"
"$probe" diff "$dir/a" "$dir/worded" >"$dir/out" 2>"$dir/err"
shows "of a finding" '· broker_not_exclusive, in words '
"$probe" --json >"$dir/tried"
"$probe" diff "$dir/tried" "$dir/live1" >"$dir/out" 2>"$dir/err"
if grep -q '"trials":{"state":"done"' "$dir/tried"; then
	shows "trials that were not made" '· report, trials, state +done -> not-asked'
	hides "are not told one by one" 'gone: \{'
else
	ok "trials that were not made # SKIP none can be made here"
fi
sed 's/"name":"ipc","status":"enforced"/"name":"ipc","status":"cooperative"/' "$dir/a" >"$dir/cooperative"
"$probe" diff "$dir/a" "$dir/cooperative" >"$dir/out" 2>"$dir/err"
shows "cooperative is not unavailable" '~ ipc +cooperative, was enforced'
for pair in "a b" "b a" "a worded" "a live1"; do
	# shellcheck disable=SC2086
	set -- $pair
	"$probe" diff "$dir/$1" "$dir/$2" >"$dir/out" 2>"$dir/err"
	if grep -qE '^  [^ ]+ (capabilities|findings|modules|kernel|platform|report|cpu|sandbox|containers|gpus|power)\.' "$dir/out"; then
		not_ok "no path for a person: $pair"
	else
		ok "no path for a person: $pair"
	fi
done
expect "two nodes differ" 1 diff "$dir/a" "$dir/b"
hides "no trees of JSON for a person" '\{"answer"'
expect "the other way round" 1 diff "$dir/b" "$dir/a"
shows "a module runs now" 'module fetch +runs here now'
expect "as JSON" 1 diff --json "$dir/a" "$dir/b"
if python3 - "$dir/out" <<'PY'; then ok "the JSON has path, from, to and words"; else not_ok "the JSON has path, from, to and words"; fi
import json, sys
d = json.load(open(sys.argv[1]))
c = {x["path"]: x for x in d["changes"]}
i = c["capabilities.ipc.status"]
assert not d["same"] and d["from"]["hostname"] == "build7"
assert (i["from"], i["to"], i["about"]) == ("enforced", "unavailable", "ipc") and "was enforced" in i["text"]
assert c["findings.broker_not_exclusive"]["to"] is None
assert not any(p.startswith("report.") and "trials" not in p and "probes" not in p for p in c), [p for p in c if p.startswith("report.")]
PY
expect "the same as JSON" 0 diff --json "$dir/a" "$dir/a"
shows "is same" '"same":true,.*"changes":\[\]'
"$probe" diff - "$dir/a" <"$dir/a" >"$dir/out" 2>"$dir/err" && ok "standard input" || not_ok "standard input"

expect "one report is usage" 64 diff "$dir/a"
expect "three are too" 64 diff "$dir/a" "$dir/a" "$dir/a"
says "and the third is named" 'is a third'
expect "no report there" 70 diff "$dir/a" "$dir/nothing"
says "it is named" "open '.*nothing': ENOENT"
head -c 3000 "$dir/a" >"$dir/cut"
expect "half a report" 70 diff "$dir/a" "$dir/cut"
says "its place is named" 'cut: line 1, column'
echo '{"x":1}' >"$dir/no"
expect "JSON that is no report" 70 diff "$dir/a" "$dir/no"
"$probe" diff "$dir/a" "$dir/b" >/dev/full 2>"$dir/err"
if [ $? -eq 70 ] && grep -q ENOSPC "$dir/err"; then ok "a full disk"; else not_ok "a full disk"; fi
expect "help" 0 diff --help

expect "assume a kernel" 0 --root $trees/no-landlock --assume-kernel 6.12
shows "the page is marked" 'ASSUMING'
shows "a leaf can be killed there, though this kernel has no cgroup.kill" '✓ process_container +assuming Linux 6.12 [^✓]* with cgroup.kill'
shows "the capability is too" '✓ ipc +assuming Linux 6.12 \(Landlock ABI 6\)'
expect "what is off at boot stays off" 1 --root $trees/landlock-off --assume-kernel 7.3 --require filesystem
expect "an older kernel" 1 --root $trees/systemd-user --assume-kernel 6.6 --require ipc,filesystem
says "loses what it did not have" 'required ipc is unavailable: assuming Linux 6.6 \(Landlock ABI 3\)'
expect "an older kernel has no cgroup.kill" 1 --root $trees/vm-7.1 --assume-kernel 5.13 --require process_container
"$probe" --root $trees/vm-7.1 --assume-kernel 5.13 --json >"$dir/out"
shows "which is assumed" '"kill":\{"answer":"no","basis":"assumed"'
shows "but it can freeze one" '"freeze":\{"answer":"yes","basis":"observed"'
expect "no Landlock at all" 1 --root $trees/systemd-user --assume-abi 0 --require filesystem
expect "this kernel, of which nothing was tried then" 0 --assume-abi 6 --json
shows "the document is marked" '"assumed":\{"kernel":null,"text":"Landlock ABI 6"\}'
shows "and its evidence" '"basis":"assumed"'
shows "and tried nothing" '"trials":\{"state":"not-asked"'
"$probe" --root $trees/no-landlock --json --module $modules/egress.toml --assume-kernel 6.12 >"$dir/assumed"
"$probe" diff --json "$dir/b" "$dir/assumed" >"$dir/out"
if python3 - "$dir/out" <<'PY'; then ok "nothing else changes"; else not_ok "nothing else changes"; fi
import json, sys
allowed = ("capabilities.", "findings.", "modules.", "kernel.landlock.", "kernel.cgroup.kill.", "kernel.cgroup.missing.", "kernel.cgroup.obstacles.",
           "report.assumed", "sandbox.", "platform.kernel", "kernel.host.release")
other = [c["path"] for c in json.load(open(sys.argv[1]))["changes"] if not c["path"].startswith(allowed)]
assert not other, other
PY
expect "the fleet's promise: the kernel a module asks for is the kernel that runs it" 0 --root $trees/no-landlock --json --module $modules/egress.toml --assume-kernel 6.12
shows "it runs there" '"runs":true'
for form in --sandbox "--format openmetrics" "--format nfd" --watch; do
	# shellcheck disable=SC2086
	expect "$form cannot be marked" 64 $form --assume-abi 6
done
for bad in "--assume-abi x" "--assume-abi 65" "--assume-kernel 6" "--assume-kernel 6.x" "--assume-kernel ." "--format xml"; do
	# shellcheck disable=SC2086
	expect "$bad is usage" 64 $bad
done
expect "a recorded machine is not watched" 64 --watch --root $trees/systemd-user
expect "two forms" 64 --json --format nfd
