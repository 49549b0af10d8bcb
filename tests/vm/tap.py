"""Tests as functions that print TAP: each function of the caller's named test_… is one."""
import os
import sys
import traceback

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(TOP, "vm-tests"))


def same(got, expected):
    if got != expected:
        raise AssertionError(f"got {got!r}, expected {expected!r}")


def raises(kind, word, function, *arguments):
    """`function` must raise `kind`, with `word` in what it says."""
    try:
        function(*arguments)
    except kind as problem:
        if word not in str(problem):
            raise AssertionError(f"'{word}' is not in '{problem}'")
        return
    raise AssertionError(f"no {kind.__name__}: '{word}' was not refused")


def main(module):
    bad = 0
    for name, function in module.items():
        if not name.startswith("test_"):
            continue
        words = name[5:].replace("_", " ")
        try:
            function()
            print(f"ok - {words}")
        except Exception:
            bad += 1
            print(f"not ok - {words}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
    sys.exit(1 if bad else 0)
