#!/usr/bin/env python3
"""oarbank-probe audit: what it counts, of which inputs, in which forms, and how it ends."""
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
PROBE = os.path.join(BUILD, "oarbank-probe")
CHECKED = os.path.join(BUILD, "dev", "oarbank-probe")  # with sanitizers
TREES = os.path.join(TOP, "tests", "fake", "trees")
MODULES = os.path.join(TOP, "tests", "golden", "modules")
bad = 0


def say(ok, name, *more):
    global bad
    bad += not ok
    print(("ok - " if ok else "not ok - ") + name)
    if not ok:
        for line in more:
            print("# " + str(line)[:300])


def run(*args, stdin=b"", program=PROBE):
    return subprocess.run([program, *args], input=stdin, capture_output=True, timeout=60)


def audit(*args, stdin=b"", code=0, program=PROBE):
    r = run("audit", "--json", *args, stdin=stdin, program=program)
    say(r.returncode == code, f"audit {' '.join(a.replace(TOP, '.') for a in args)[:60]}: exit {code}", r.returncode, r.stderr.decode())
    return json.loads(r.stdout) if r.stdout else {}


def report(tree, name):
    env = dict(os.environ, SOURCE_DATE_EPOCH="1767225600")
    r = subprocess.run([PROBE, "--json", "--root", os.path.join(TREES, tree)], capture_output=True, env=env, check=True)
    d = json.loads(r.stdout)
    d["hostname"] = name
    return d


def lines(*docs):
    return b"".join(json.dumps(d, separators=(",", ":")).encode() + b"\n" for d in docs)


def column(a, name):
    return next(c for c in a["capabilities"] if c["name"] == name)


def change(a, text):
    return next((c for c in a["changes"] if c["change"].startswith(text)), None)


def counts(dir):
    fleet = subprocess.run([sys.executable, os.path.join(HERE, "make_fleet.py"), "480", PROBE, "3"], capture_output=True, check=True).stdout
    path = os.path.join(dir, "fleet.jsonl")
    open(path, "wb").write(fleet)
    a = audit(path, code=1)
    docs = [json.loads(l) for l in fleet.splitlines()[3:]]
    say(a["node_count"] == 477 and len(a["nodes"]) == 477, "every node is counted once")
    say(a["damaged"] == 3 and len(a["damaged_reports"]) == 3, "damaged reports are counted")
    for name in ("filesystem", "ipc", "net.egress-allowlist", "net.egress-any"):
        status = [next(c["status"] for c in d["capabilities"] if c["name"] == name) for d in docs]
        c = column(a, name)
        say([status.count(s) for s in ("enforced", "cooperative", "unavailable")] ==
            [c["enforced"], c["cooperative"], c["unavailable"]], f"{name} is counted as an independent reader counts it")
        why = sum(r["nodes"] for r in a["reasons"] if r["capability"] == name)
        say(why == 477 - c["enforced"], f"every node without {name} has one reason")
    say(sum(k["nodes"] for k in a["kernels"]) == 477 and sum(p["nodes"] for p in a["profiles"]) == 477, "kernels and profiles add up")
    say([n["name"] for n in a["nodes"]] == sorted(n["name"] for n in a["nodes"]), "nodes are sorted")
    by_name = {d["hostname"]: d for d in docs}
    wrong = [n["name"] for n in a["nodes"]
             if a["profiles"][n["profile"]]["kernel"] != by_name[n["name"]]["platform"]["kernel"]
             or dict(zip([c["name"] for c in a["capabilities"]], a["profiles"][n["profile"]]["status"]))
             != {c["name"]: c["status"] for c in by_name[n["name"]]["capabilities"]}]
    say(not wrong, "each node has the kernel and the statuses of its report", wrong)
    checked = run("audit", "--json", path, program=CHECKED)
    say(checked.stdout == run("audit", "--json", path).stdout, "threads change nothing in the output", checked.stderr.decode()[-300:])
    piped = run("audit", "--json", "-", stdin=fleet)
    say(json.loads(piped.stdout)["nodes"] == a["nodes"], "standard input gives the same")
    say(b"report at line 2" in piped.stderr and b"standard input" in piped.stderr, "a damaged report is named", piped.stderr.decode())
    return path


def inputs(dir):
    one, two = report("systemd-user", "one"), report("no-landlock", "two")
    tree = os.path.join(dir, "tree", "below")
    os.makedirs(tree)
    json.dump(one, open(os.path.join(dir, "tree", "pretty.json"), "w"), indent=2)
    open(os.path.join(tree, "b.ndjson"), "wb").write(lines(two, report("laptop", "three")))
    open(os.path.join(tree, "README"), "w").write("no report\n")
    os.symlink("..", os.path.join(tree, "loop"))
    os.mkfifo(os.path.join(tree, "pipe.json"))
    os.symlink("b.ndjson", os.path.join(tree, "a.jsonl"))
    a = audit(os.path.join(dir, "tree"))
    say([n["name"] for n in a["nodes"]] == ["one", "three", "three", "two", "two"], "a directory is read with those in it", a["nodes"])
    a = audit(os.path.join(tree, "README"), os.path.join(dir, "nothing.json"), os.path.join(dir, "tree", "pretty.json"), code=1)
    say(a["damaged"] == 2 and a["node_count"] == 1, "what is no report, and what is not there, loses nothing else", a)
    say(any("nothing.json: read: ENOENT" in d for d in a["damaged_reports"]), "a file that is not there is named", a["damaged_reports"])
    r = run("audit", stdin=b"")
    say(r.returncode == 1 and b"no report" in r.stderr, "no report at all is exit 1")
    a = audit("-", stdin=lines(one)[:-200] + b"\n" + lines(two) + b"ssh: no route\n" + b"{}\n" + b'{"a":\n' + lines(one), code=1)
    say(a["node_count"] == 2 and a["damaged"] == 4 and {n["name"] for n in a["nodes"]} == {"one", "two"},
        "after a damaged report the next one is found", a["damaged_reports"])
    for size in (18, 40):
        junk = b'{"x":"' + b"a" * (size << 20) + b'"}\n'
        a = audit("-", stdin=lines(one) + junk + lines(two), code=1)
        say(a["node_count"] == 2 and a["damaged"] == 1 and "more than 16 MiB" in a["damaged_reports"][0], f"a report of {size} MiB is skipped", a["damaged_reports"])
    a = audit("-", stdin=b"\r\n".join(lines(one, two).splitlines()) + b"\r\n\r\n  \n")
    say(a["node_count"] == 2, "line ends of other systems, and empty lines")
    newer = report("systemd-user", "newer")
    newer["capabilities"].append({**newer["capabilities"][0], "name": "later.than.this", "status": "enforced"})
    page = run("audit", stdin=lines(newer, report("no-landlock", "older"))).stdout.decode()
    kernels = page.split("\nKernels", 1)[1].split("\n\n")[0].splitlines()
    say([k.split()[-1] for k in kernels[2:]] == ["·", "✓"], "what no node of a kernel tells is not said to be on none", *kernels)
    hostile = report("laptop", "=cmd|' /C calc'!A0\"</script><b>\n\u202e")
    r = run("audit", "--csv", stdin=lines(hostile))
    row = list(csv.reader(io.StringIO(r.stdout.decode(), newline="")))[1]
    say(row[0].startswith("'=cmd") and "</script>" in row[0], "a host name is no formula in a spreadsheet", row[0])
    page = os.path.join(dir, "hostile.html")
    r = run("audit", "--html", page, stdin=lines(hostile))
    text = open(page).read()
    say("</script><b>" not in text and text.count("</script>") == 2, "a host name does not end the page's script")
    say("\n" not in r.stdout.decode().split("cmd")[-1].split("\n")[0] and "\\x0a" in r.stdout.decode(), "nor the line of a terminal")


def older():
    """What the published agent registers with, and what later versions may add."""
    facts = {"facts": 2, "hostname": "old", "platform": {"os": "linux", "arch": "amd64", "kernel": "6.1.0"},
             "sandbox": {"backend": "landlock", "landlock_abi": 3,
                         "enforcement": {"filesystem": "enforced", "ipc": "unavailable", "net.none": "enforced"}}}
    none = {"facts": 1, "hostname": "older", "sandbox": {"backend": None, "landlock_abi": 0, "enforcement": {}}, "strange": [1, {"x": None}]}
    newer = report("systemd-user", "newer")
    newer["report"]["schema"] = 99
    newer["capabilities"].append({"name": "net.exact", "status": "enforced", "why": "later", "evidence": [], "remedy": None, "new": True})
    a = audit("-", stdin=lines(facts, none, newer))
    reason = [r for r in a["reasons"] if r["capability"] == "ipc" and "3 found, 6 needed" in r["why"]]
    say(len(reason) == 1 and reason[0]["remedy"].startswith("Linux 6.12"), "bare facts get the contract's reasons", a["reasons"])
    say(column(a, "filesystem")["unavailable"] == 1 and column(a, "filesystem")["enforced"] == 2, "without a backend nothing is enforced")
    c = column(a, "net.exact")
    say(c["enforced"] == 1 and c["untold"] == 2, "a capability of a later version is a column, and untold elsewhere", c)
    say(change(a, "Linux 6.12")["capabilities"].get("ipc") == 2, "and what a kernel would bring")


def gains():
    docs = [report("no-landlock", f"old-{i}") for i in range(12)] + [report("bare", f"bare-{i}") for i in range(5)]
    docs += [report("systemd-user", f"new-{i}") for i in range(3)] + [report("landlock-off", f"off-{i}") for i in range(2)]
    docs += [report("docker-old", f"box-{i}") for i in range(4)] + [report("two-gpus", "gpus")]
    a = audit("--module", os.path.join(MODULES, "egress.toml"), "--module", os.path.join(MODULES, "gpu.toml"), stdin=lines(*docs))
    # Each report's own verdict says which kernel would do; the fleet's number must be their sum.
    needs = {}
    for tree, count in (("no-landlock", 12), ("bare", 5), ("systemd-user", 3), ("landlock-off", 2), ("docker-old", 4), ("two-gpus", 1)):
        r = run("--json", "--root", os.path.join(TREES, tree), "--module", os.path.join(MODULES, "egress.toml"))
        kernel = json.loads(r.stdout)["modules"][0]["kernel"]
        if kernel:
            needs[kernel] = needs.get(kernel, 0) + count
    say(len(needs) > 0, "some nodes would run it on a newer kernel", needs)
    version = lambda v: [int(n) for n in v.split(".")]
    for kernel in needs:
        c = next(c for c in a["changes"] if c["kernel"] == kernel)
        want = sum(n for k, n in needs.items() if version(k) <= version(kernel))
        got = {m["name"]: m["nodes"] for m in c["modules"]}
        say(got.get("fetch") == want, f"Linux {kernel} runs fetch on +{want} nodes", got)
    runs = a["modules"][0]
    say(runs["runs"] + sum(runs["refused"].values()) == 27, "every node has a verdict", runs)
    off = change(a, "boot with landlock")
    say(off and off["at_most"] and off["nodes"] == 2, "a sandbox that is off is worth at most its nodes", off)
    group = change(a, "the agent's account in group render")
    want = sum(any(n["group"] == "render" for n in d["kernel"]["gpu"]["nodes"]) for d in docs)
    say(want > 0 and group["gpu"] == want, "a group that would open a GPU", group, want)
    text = run("audit", "--module", os.path.join(MODULES, "egress.toml"), stdin=lines(*docs)).stdout.decode()
    say("run module fetch" in text and "What one change would bring" in text and "+" in text, "the page tells the gains")
    wide = [l for l in text.splitlines() if len(l) > 84]
    say(not wide, "the page fits its columns", *wide[:3])
    a = audit("--modules", os.path.join(MODULES, "modules.json"), stdin=lines(*docs), code=1)
    say(any("error" in m for m in a["modules"]) and any("runs" in m for m in a["modules"]), "a bad manifest costs itself alone")


def promises():
    """What a kernel would bring is what each node would report with it."""
    def at(tree, kernel):
        r = run("--json", "--root", os.path.join(TREES, tree), *(["--assume-kernel", kernel] if kernel else []))
        return {c["name"]: c["status"] == "enforced" for c in json.loads(r.stdout)["capabilities"]}

    def number(kernel):
        return [int(part) for part in kernel.split("-")[0].split(".")[:2]]

    trees = [t for t in sorted(os.listdir(TREES)) if os.path.exists(os.path.join(TREES, t, "kernel.calls"))]
    docs = {t: report(t, t) for t in trees}
    now = {t: at(t, None) for t in trees}
    for c in audit("-", stdin=lines(*docs.values()))["changes"]:
        if not c["kernel"]:
            continue
        expected = {}
        for t in trees:
            if number(docs[t]["platform"]["kernel"]) >= number(c["kernel"]):
                continue
            for name, enforced in at(t, c["kernel"]).items():
                if enforced and not now[t][name]:
                    expected[name] = expected.get(name, 0) + 1
        say(c["capabilities"] == expected, f"{c['change']} brings what nodes say they would have", c["capabilities"], expected)


def delegation():
    d = report("systemd-user", "x")
    d["kernel"]["cgroup"]["missing"] = ["words for people"]
    d["kernel"]["cgroup"]["obstacles"] = ["not-delegated"]
    both = report("systemd-user", "both")
    both["kernel"]["cgroup"]["obstacles"] = ["not-delegated", "controller-in-v1", "controller-in-v1"]
    old = report("systemd-user", "old")
    old["kernel"]["cgroup"]["obstacles"] = ["old-kernel"]
    old["platform"]["kernel"] = "5.10.0-1-amd64"
    untold = report("systemd-user", "untold")
    untold["kernel"]["cgroup"]["missing"] = ["words for people"]
    del untold["kernel"]["cgroup"]["obstacles"]
    a = audit("-", stdin=lines(d, dict(d, hostname="y"), report("v1-only", "z"), both, old, untold))
    c = change(a, "Delegate=yes in the agent's unit")
    say(c and c["container_leaf"] == 2, "Delegate=yes brings a leaf where it is what is missing", a["changes"])
    c = change(a, "the unified cgroup hierarchy")
    say(c and c["container_leaf"] == 1, "and the unified hierarchy where that is", a["changes"])
    c = change(a, "the unified cgroup hierarchy (boot with systemd.unified_cgroup_hierarchy=1), and Delegate=yes")
    c = c or change(a, "Delegate=yes in the agent's unit, and the unified")
    say(c and c["container_leaf"] == 1, "both where both are", a["changes"])
    c = next((c for c in a["changes"] if c["kernel"] == "5.14"), None)
    say(c and c["container_leaf"] == 1, "a kernel where it has no cgroup.kill", a["changes"])
    c = change(a, "a report that can tell")
    say(c and c["container_leaf"] == 1, "a report that says it in words only is counted by itself", a["changes"])


def latest():
    first, last = report("no-landlock", "n"), report("systemd-user", "n")
    first["report"]["time"], last["report"]["time"] = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
    both = audit("-", stdin=lines(last, first))
    say(both["node_count"] == 2 and both["superseded"] == 0, "without --latest every report counts")
    one = audit("--latest", "-", stdin=lines(last, first))
    say(one["node_count"] == 1 and one["superseded"] == 1 and one["nodes"][0]["time"] == "2026-01-02T00:00:00Z", "--latest takes the last of a name")


def forms(dir, fleet):
    r = run("audit", "--csv", "--module", b"no\xff.toml", fleet)
    say(r.stdout.decode(errors="replace").splitlines()[0].endswith(",no\ufffd.toml") and r.stdout.decode(errors="replace").encode() == r.stdout,
        "a file's name that is no UTF-8 is one in the table", r.stdout[:400])
    r = run("audit", "--csv", fleet)
    rows = list(csv.reader(io.StringIO(r.stdout.decode(), newline="")))
    say(len(rows) == 478 and all(len(x) == len(rows[0]) for x in rows), "CSV: a row for each node, all of one width")
    say(rows[0][:5] == ["node", "time", "kernel", "arch", "landlock_abi"] and "ipc" in rows[0], "CSV: the header", rows[0])
    page = os.path.join(dir, "fleet.html")
    r = run("audit", "--html", page, fleet)
    text = open(page).read()
    say(r.returncode == 1 and r.stdout.startswith(b"477 nodes"), "--html writes a file beside the page")
    say("http://" not in text and "https://" not in text and "src=" not in text, "the page needs no network")
    for args, code, what in ((["--json", "--csv"], 64, "two forms are usage"), (["--nothing"], 64, "an unknown option is usage"),
                             (["--html"], 64, "an option without its argument is usage"), (["--help"], 0, "help"),
                             (["--html", os.path.join(dir, "no", "page"), fleet], 70, "a page that cannot be made is exit 70")):
        r = run("audit", *args)
        say(r.returncode == code, f"{what}", r.returncode, r.stderr)
    with open("/dev/full", "wb") as full:
        for form in ([], ["--json"], ["--csv"]):
            r = subprocess.run([PROBE, "audit", *form, fleet], stdout=full, stderr=subprocess.PIPE, timeout=60)
            say(r.returncode == 70 and b"ENOSPC" in r.stderr, f"a full disk is exit 70 {' '.join(form)}", r.returncode, r.stderr[-200:])
    r = run("audit", "--html", "/dev/full", fleet)
    say(r.returncode == 70, "and for the page too")


def memory(dir, fleet):
    """The table and no more: ten times the nodes take a few bytes each, and no report is kept."""
    def peak(path):
        r = subprocess.run([sys.executable, "-c",
                            "import resource,subprocess,sys\n"
                            f"subprocess.run([{PROBE!r},'audit','--csv',{path!r}],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL)\n"
                            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"], capture_output=True, timeout=60)
        return int(r.stdout) * 1024
    more = os.path.join(dir, "more.jsonl")
    text = open(fleet, "rb").read()
    with open(more, "wb") as out:
        for _ in range(8):
            out.write(text)
    small, large = peak(fleet), peak(more)
    per_node = (large - small) / (477 * 7)
    say(per_node < 1024, f"a node of {len(text) // 480} bytes takes under 1 KiB of memory", per_node, small, large)


def main():
    dir = tempfile.mkdtemp()
    try:
        fleet = counts(dir)
        inputs(dir)
        older()
        gains()
        promises()
        delegation()
        latest()
        forms(dir, fleet)
        memory(dir, fleet)
    finally:
        shutil.rmtree(dir)
    return 1 if bad else 0


sys.exit(main())
