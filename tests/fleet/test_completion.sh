#!/usr/bin/env bash
# Completions for bash, zsh and fish, asked of those shells.
set -u
cd "$(dirname "$0")/../.."
probe=${BUILD:-build}/oarbank-probe
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for shell in bash zsh fish; do
	if "$probe" completion $shell >"$dir/$shell" && [ -s "$dir/$shell" ]; then echo "ok - $shell: written"; else echo "not ok - $shell: written"; fi
done
"$probe" completion tcsh 2>/dev/null
if [ $? -eq 64 ]; then echo "ok - another shell is usage"; else echo "not ok - another shell is usage"; fi
if "$probe" --help | grep -q completion; then echo "not ok - help does not show the verb"; else echo "ok - help does not show the verb"; fi

# check SHELL LINE WANTED...: each of the words, and none that does not begin as the last of LINE.
check() {
	local shell=$1 line=$2 got want missing=
	shift 2
	got=$(ask_"$shell" "$line")
	for want in "$@"; do
		grep -qxF -- "$want" <<<"$got" || missing+=" $want"
	done
	if [ -z "$missing" ]; then
		echo "ok - $shell: '$line'"
	else
		echo "not ok - $shell: '$line': missing$missing"
		sed 's/^/# got: /' <<<"$got" | head -5
	fi
}
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
# A zsh of its own in a pseudo-terminal, which is asked to list what it would complete.
ask_zsh() {
	cp "$dir/zsh" "$dir/_oarbank-probe"
	python3 - "$dir" "$1" <<'PY'
import os, pty, re, select, sys, time
dir, line = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(ZDOTDIR=dir, TERM="dumb", PS1="% ", HOME=dir, LINES="200", COLUMNS="200")
    os.execlp("zsh", "zsh", "-f", "-i")
def until(mark, seconds=20):
    out = b""
    end = time.monotonic() + seconds
    while mark not in out and time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                out += os.read(fd, 65536)
            except OSError:
                break
    return out
def send(text):
    os.write(fd, text.encode())
send(f"fpath=({dir} $fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=9999; zstyle ':completion:*' list-colors; setopt no_menu_complete no_auto_menu; echo REA''DY\n")
until(b"READY\r\n")
time.sleep(0.2)
send(line + "\x04")  # delete-char-or-list: lists at the end of the line
out = b""
end = time.monotonic() + 10
while time.monotonic() < end:  # until there is a list, and it has been quiet for a while
    more = until(b"\x00", 0.5)
    out += more
    if not more and out.count(b"\n") > 0:
        break
os.close(fd)
os.waitpid(pid, 0)
for word in re.findall(r"[A-Za-z0-9_.=-]+", out.decode(errors="replace")):
    print(word.rstrip("="))
PY
}
for shell in bash zsh fish; do
	if ! command -v $shell >/dev/null; then
		echo "ok - $shell completes # SKIP no $shell here"
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
