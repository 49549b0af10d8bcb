#!/usr/bin/env python3
"""The pages of docs/: links lead somewhere, tables say what the code says, packages match .ci/deps."""
import fnmatch
import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ("kabi", "launch", "probe", "report", "tests", "vm-tests", "docs")
bad = 0


def say(ok, name, *more):
    global bad
    bad += not ok
    print(("ok - " if ok else "not ok - ") + name)
    if not ok:
        for line in more:
            print("#", str(line)[:300])


def read(path):
    return open(os.path.join(TOP, path)).read()


def links():
    tree = [os.path.relpath(os.path.join(folder, name), TOP) for top in FOLDERS for folder, _, names in os.walk(os.path.join(TOP, top))
            for name in names]
    pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "vm-tests/README.md", "tests/fake/README.md"]
    for path in pages + [os.path.relpath(p, TOP) for p in glob.glob(TOP + "/docs/*.md")]:
        text = read(path)
        here = os.path.dirname(os.path.join(TOP, path))
        broken = [l for l in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text) if not os.path.exists(os.path.join(here, l))]
        say(not broken, f"links of {path}", *broken)
        # Files of ours, by a whole path, one from the page's folder or the name alone; rows_*.c are some.
        files = re.findall(r"(?<![\w./*-])[\w*][\w./*-]*\.(?:c|h|cpp|py|tsv)\b", text)
        gone = [f for f in files if not any(fnmatch.fnmatch(t, f) or fnmatch.fnmatch(t, os.path.dirname(path) + "/" + f)
                                            or fnmatch.fnmatch(os.path.basename(t), f) for t in tree)]
        say(not gone, f"files named by {path} are there", *gone)


def kernels():
    code = read("kabi/landlock.c")
    rights = {}
    for abi, name in re.findall(r"\{ \w+, +\d+, (\d+), \w+, +\"(\w+)\"", code):
        rights.setdefault(int(abi), set()).add(name)
    first = {int(a): r for a, r in re.findall(r"\[(\d+)\] = \"([0-9.]+)\"", code)}
    page = {}
    for line in read("docs/kernels.md").splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 5 and cells[0].isdigit():
            page[int(cells[0])] = (cells[1], set(re.findall(r"\b[A-Z][A-Z_]+\b", cells[2])), re.findall(r"[\w.-]*\d\.\d+", cells[4]))
    say({a: r for a, (r, _, _) in page.items()} == first, "kernels.md has the first release of each ABI", page, first)
    say({a: r for a, (_, r, _) in page.items()} == rights, "kernels.md has the rights of each ABI", page, rights)
    rows = [l.split("\t")[0] for l in read("vm-tests/rows.tsv").splitlines() if l and l[0] != "#"]
    gone = [r for _, _, named in page.values() for r in named if r not in rows]
    say(page and not gone, "and every row it names is there", *gone)


def packages():
    # g++ is build-essential, which a package does not name.
    deps = set(re.search(r'^build="(.*)"$', read(".ci/deps"), re.M).group(1).split()) - {"g++"}
    needed = re.search(r"^Build-Depends:(.*?)^\S", read("docs/debian/control"), re.M | re.S).group(1)
    needed = {n.split()[0] for n in needed.replace("\n", " ").split(",")} - {"debhelper-compat"}
    say(deps == needed, "the package's build dependencies are those of .ci/deps", deps ^ needed)
    version = re.search(r"^VERSION := (.*)$", read("Makefile"), re.M).group(1)
    say(f"({version})" in read("docs/debian/changelog").splitlines()[0], "the package has the version of the Makefile")
    say(f"## {version}\n" in read("CHANGELOG.md"), "and so has the change log")


def supervision():
    text = read("docs/supervision.md")
    tests = "".join(read(p) for p in ("tests/live/test_supervise.c", "tests/live/test_supervise_calls.c",
                                      "tests/live/test_supervise_metadata.c"))
    trials = "".join(open(p).read() for p in glob.glob(TOP + "/probe/trial/rows_*.c"))
    finding = read("probe/finding.c")
    rows = [[c.strip() for c in l.strip("|").split("|")] for l in text.splitlines() if l.startswith("| ") and "`" in l]
    rows = [r for r in rows if len(r) == 5]
    names = [n for r in rows for n in re.findall(r"`(\w+)`", r[2])] + re.findall(r"`([a-z]+_\w+_\w+)`", text)
    known = set(re.findall(r"cmocka_unit_test\((\w+)\)", tests)) | set(re.findall(r'"(\w+)", SEVERITY', finding))
    say(len(rows) > 4 and not set(names) - known, "every test that supervision.md names is one", set(names) - known)
    gone = [t for r in rows for t in re.findall(r"`([\w.-]+)`", r[3]) if f'"{t}"' not in trials and "--parent" not in t]
    gone += [f for r in rows for f in re.findall(r"`(\w+)`", r[4]) if f'"{f}"' not in finding]
    say(not gone, "and every trial and finding", *gone)
    missing = set(re.findall(r"cmocka_unit_test\((\w+)\)", tests)) - set(names)
    say({"only_the_proxy_and_the_broker_are_reached", "a_file_outside_is_not"}.isdisjoint(missing), "those that deny are in it")


def main():
    links()
    supervision()
    kernels()
    packages()
    return 1 if bad else 0


sys.exit(main())
