"""Ask a zsh in a pseudo-terminal what it completes LINE with; the words it lists are written one a line.

usage: ask_zsh.py DIR LINE, where DIR/functions has the completion.
"""
import os
import pty
import re
import select
import sys
import time

START = """
fpath=($ZDOTDIR/functions $fpath)
autoload -Uz compinit
compinit -u -D
LISTMAX=9999
zstyle ':completion:*' list-colors
zle-line-init() { print READY }
zle -N zle-line-init
# The listing is written before the word that ends it.
list-now() { zle list-choices; zle -R; print; print LISTED }
zle -N list-now
bindkey '^X' list-now
"""


def until(fd, mark, seconds=20):
    out = b""
    end = time.monotonic() + seconds
    while mark not in out:
        if not select.select([fd], [], [], max(0, end - time.monotonic()))[0]:
            raise SystemExit(f"no {mark} from zsh: {out}")
        out += os.read(fd, 65536)
    return out


def main():
    dir, line = sys.argv[1:]
    with open(os.path.join(dir, ".zshrc"), "w") as f:
        f.write(START)
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(ZDOTDIR=dir, TERM="dumb", PS1="% ", HOME=dir, LINES="200", COLUMNS="200")
        os.execlp("zsh", "zsh", "-d", "-i")
    until(fd, b"READY")
    os.write(fd, line.encode() + b"\x18")
    out = until(fd, b"LISTED").decode(errors="replace")
    os.close(fd)
    os.waitpid(pid, 0)
    for word in re.findall(r"[A-Za-z0-9_.=-]+", out):
        print(word.rstrip("="))


main()
