#!/usr/bin/env bash
# Completions for bash, zsh and fish, asked of those shells.
set -u
cd "$(dirname "$0")/../.."
probe=${BUILD:-build}/oarbank-probe
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
for shell in bash zsh fish; do
	"$probe" completion $shell >"$dir/$shell" && [ -s "$dir/$shell" ]
	say $? "$shell: written"
done
"$probe" completion tcsh 2>/dev/null
[ $? -eq 64 ]
say $? "another shell is usage"
"$probe" completion 2>&1 | grep -q 'no shell is named; there are bash, zsh, fish'
say $? "and so is none"
! "$probe" --help | grep -q completion
say $? "help does not show the verb"

# Each writes the words that the shell completes LINE with, one a line.
ask_bash() {
	bash --norc -c '
		source "$1"
		line=$2
		read -ra COMP_WORDS <<<"$line"
		[[ $line == *" " ]] && COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_oarbank_probe
		printf "%s\n" "${COMPREPLY[@]}"' bash "$dir/bash" "$1"
}
ask_fish() {
	HOME=$dir XDG_CONFIG_HOME=$dir XDG_DATA_HOME=$dir fish --no-config -c "source $dir/fish; complete -C '$1'" | cut -f1
}
ask_zsh() {
	mkdir -p "$dir/functions"
	cp "$dir/zsh" "$dir/functions/_oarbank-probe"
	python3 tests/fleet/ask_zsh.py "$dir" "$1"
}

# check SHELL LINE WANTED...: each of the words is among what completes LINE.
check() {
	local shell=$1 line=$2 got want missing=
	shift 2
	got=$(ask_"$shell" "$line")
	for want in "$@"; do
		grep -qxF -- "$want" <<<"$got" || missing+=" $want"
	done
	[ -z "$missing" ]
	say $? "$shell: '$line'${missing:+: missing$missing}"
	[ -z "$missing" ] || head -5 <<<"$got" | sed 's/^/# got: /'
}

for shell in bash zsh fish; do
	if ! command -v $shell >/dev/null; then
		echo "ok - $shell completes # SKIP no $shell here"
		continue
	fi
	if [ $shell = zsh ] && ! why=$(python3 -c 'import os; os.openpty()' 2>&1); then
		echo "ok - zsh completes # SKIP it does on a terminal only, and here is none to be had: ${why##*$'\n'}"
		continue
	fi
	check $shell 'oarbank-probe --' --json --explain --modules --assume-kernel --watch
	check $shell 'oarbank-probe audit --' --html --csv --latest --modules
	check $shell 'oarbank-probe --explain ' filesystem ipc no_link_local
	check $shell 'oarbank-probe --format ' openmetrics nfd
	check $shell 'oarbank-probe ' audit diff
done
check bash 'oarbank-probe --require ipc,fi' ipc,filesystem
check bash 'oarbank-probe diff R' README.md
exit $bad
