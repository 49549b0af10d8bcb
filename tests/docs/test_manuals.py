#!/usr/bin/env python3
"""The manuals: mandoc finds nothing, their examples run, and they name what there is."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
PROBE = os.path.join(BUILD, "oarbank-probe")
TREES = os.path.join(TOP, "tests", "fake", "trees")
MODULES = os.path.join(TOP, "tests", "golden", "modules")
OURS = ("oarbank-probe.1", "oarbank-sandbox.1", "oarbank-policy.5", "oarbank-report.5", "oarbank-module.5")
bad = 0


def say(ok, name, *more):
    global bad
    bad += not ok
    print(("ok - " if ok else "not ok - ") + name)
    if not ok:
        for line in more:
            print("#", str(line)[:400])


def page(name):
    return os.path.join(TOP, "docs", name)


def rendered(name):
    return subprocess.run(["mandoc", "-Tutf8", "-Owidth=900", page(name)], capture_output=True, check=True).stdout.decode()


def plain(text):
    return re.sub(".\b", "", text)


def lint():
    for path in sorted(glob.glob(os.path.join(TOP, "docs", "*.[1-9]"))):
        r = subprocess.run(["mandoc", "-Tlint", path], capture_output=True)
        # Other manuals need not be installed here.
        found = [l for l in r.stdout.decode().splitlines() if "referenced manual not found" not in l]
        say(not found, f"mandoc finds nothing in {os.path.basename(path)}", *found)
        # What a terminal of 80 columns would break: an example that is copied must stay whole, and groff breaks no .Op.
        shown = re.findall(r"^\.(?:Dl|Op) (.*)$", open(path).read(), re.M)
        for block in re.findall(r"^\.Bd -literal -offset.*?\n(.*?)^\.Ed", open(path).read(), re.S | re.M):
            shown += block.replace("\\e", "\\").splitlines()
        wide = [line for line in shown if len(line) > 69]
        say(not wide, "and no example or option in it is too wide for a terminal", *wide)


def examples(name):
    """(command, exit code) of each example, as a reader sees it: '$ ', and the lines indented below it."""
    codes = []
    code = 0
    for line in open(page(name)):
        declared = re.match(r'\.\\" exit (\d+)', line)
        if declared:
            code = int(declared.group(1))
        elif re.match(r"(\.Dl )?\$ ", line):
            codes.append(code)
            code = 0
    commands = re.findall(r"^( *)\$ (.*(?:\n\1    .*)*)", plain(rendered(name)), re.M)
    assert len(commands) == len(codes), (name, commands, codes)
    return [(command, code) for (_, command), code in zip(commands, codes)]


def blocks(name):
    """What a page shows as it is, as a reader sees it."""
    return [text.replace("\\e", "\\") for text in re.findall(r"\.Bd -literal\n(.*?\n)\.Ed", open(page(name)).read(), re.S)]


def stage(dir):
    os.mkdir(os.path.join(dir, "reports"))
    os.mkdir(os.path.join(dir, "work"))
    for tree in ("systemd-user", "no-landlock"):
        out = subprocess.run([PROBE, "--json", "--root", os.path.join(TREES, tree)], capture_output=True, check=True).stdout
        open(os.path.join(dir, "reports", tree + ".json"), "wb").write(out)
    shutil.copy(os.path.join(dir, "reports", "no-landlock.json"), os.path.join(dir, "before.json"))
    shutil.copy(os.path.join(dir, "reports", "systemd-user.json"), os.path.join(dir, "after.json"))
    release = json.load(open(os.path.join(MODULES, "modules.json")))
    release["modules"] = [m for m in release["modules"] if isinstance(m, dict) and m.get("name") != "broken"]
    json.dump(release, open(os.path.join(dir, "modules.json"), "w"))
    open(os.path.join(dir, "oarbank-module.toml"), "w").write(blocks("oarbank-module.5")[0])
    json.dump({"ro": [], "rw": [os.path.join(dir, "work")]}, open(os.path.join(dir, "policy.json"), "w"))


def run_examples(dir):
    env = dict(os.environ, PATH=BUILD + ":/usr/sbin:/usr/bin:/sbin:/bin", HOME=dir)
    for name in OURS:
        for command, code in examples(name):
            shown = " ".join(command.split())[:60]
            if "jq" in command and not shutil.which("jq"):
                print(f"ok - {name}: {shown} # SKIP no jq here")
                continue
            if "sandbox-exec" in command or "--require" in command:
                if subprocess.run([PROBE, "--no-trials", "--require", "filesystem,ipc"], capture_output=True).returncode:
                    print(f"ok - {name}: {shown} # SKIP this kernel does not enforce it")
                    continue
            r = subprocess.run(["/bin/sh", "-c", command], cwd=dir, env=env, capture_output=True, timeout=60)
            say(r.returncode == code, f"{name}: {shown}", r.returncode, r.stdout[-300:], r.stderr[-300:])
    say(os.path.exists(os.path.join(dir, "fleet.html")) and os.path.exists(os.path.join(dir, "fleet.csv"))
        and os.path.exists(os.path.join(dir, "oarbank.prom")), "they left what they say they leave")


def the_policy(dir):
    text = open(page("oarbank-policy.5")).read()
    policy = json.loads(next(b for b in blocks("oarbank-policy.5") if b.startswith("{")))
    for key, name in (("ro", "reports"), ("rw", "work")):
        policy[key] = [os.path.join(dir, name) for _ in policy[key]]
    path = os.path.join(dir, "example.json")
    json.dump(policy, open(path, "w"))
    r = subprocess.run([os.path.join(BUILD, "oarbank-plan"), path, "--assume-abi", "6"], capture_output=True)
    say(r.returncode == 0, "the policy in the manual is one", r.returncode, r.stderr)
    # Each key that the launcher knows, by its own refusal of others.
    for key, value in (("ro", 1), ("rw", 1), ("rd", 1), ("wo", 1), ("exe", 1), ("exec_rw", 1), ("net", 1), ("proxy_port", "x"),
                       ("broker_socket", 1), ("gpu", 1), ("module", 1), ("kind", 1)):
        json.dump({key: value}, open(path, "w"))
        r = subprocess.run([os.path.join(BUILD, "oarbank-plan"), path], capture_output=True)
        say(b"unknown" not in r.stderr and key.encode() in r.stderr and re.search(rf"\.(It )?Li .*\b{key}\b", text),
            f"the key {key} is known and in the manual", r.stderr)


def the_module(dir):
    manifest, release = blocks("oarbank-module.5")
    open(os.path.join(dir, "release.json"), "w").write(release)
    for option, name, needs in (
            ("--module", "oarbank-module.toml", "filesystem ipc net.egress-allowlist no_loopback folders.read "
             "no_link_local exec_writable_deny"),
            ("--modules", "release.json", "filesystem ipc net.egress-allowlist no_loopback no_link_local exec_writable_deny")):
        r = subprocess.run([PROBE, "--json", "--root", os.path.join(TREES, "systemd-user"), option, os.path.join(dir, name)],
                           capture_output=True)
        module = json.loads(r.stdout)["modules"][0]
        say(r.returncode == 0 and module["runs"] and module["name"] == "fetch" and module["version"] == "1.2.0"
            and module["unknown_keys"] == [] and module["needs"] == needs.split(), f"the {name} in the manual is one", module)
    # The keys that the readers know are lists of words, or arguments of what reads a field.
    keys = set()
    for source in ("manifest.c", "grants.c", "services.c", "modules.c"):
        text = open(os.path.join(TOP, "report", source)).read()
        for words in re.findall(r"\b(?:known(?:_linux)?|flags|backoff)\[\] = \{(.*?)\}", text, re.S):
            keys |= set(re.findall(r'"(\w+)"', words))
        for call in re.findall(r"\b(?:field_\w+|read_tables|read_requirement)\(r?&?r?, (.*?)\);", text, re.S):
            keys |= set(re.findall(r'"(\w+)"', call.split("&rule")[0]))
    text = open(page("oarbank-module.5")).read()
    named = {w.strip(",;:.") for line in re.findall(r"^\.(?:It )?Li (.*)$", text, re.M) for w in re.split(r"[ .]", line)}
    say(len(keys) > 60 and keys <= named, f"each of {len(keys)} keys of a module is in oarbank-module.5", sorted(keys - named))


def names():
    for verb, manual in ((["--help"], "oarbank-probe.1"), (["audit", "--help"], "oarbank-probe.1"), (["diff", "--help"], "oarbank-probe.1")):
        out = subprocess.run([PROBE, *verb], capture_output=True, check=True).stdout.decode()
        text = plain(rendered(manual))
        missing = [o for o in re.findall(r"^  (--[a-z-]+)", out, re.M) if o not in text]
        say(not missing, f"every option of {' '.join(verb)} is in {manual}", missing)
    for option in ("--format", "--without", "--parent"):
        said = subprocess.run([PROBE, option, "?"], capture_output=True).stderr.decode()
        words = re.search(r"there are (.*?)(;|$)", said, re.M).group(1).split(", ")
        text = re.search(rf"^\.It Fl {option[1:]} (.*?)^\.It Fl", open(page("oarbank-probe.1")).read(), re.S | re.M).group(1)
        missing = [w for w in words if not re.search(rf"^.*Cm .*\b{w}\b", text, re.M)]
        say(len(words) > 1 and not missing, f"every word of {option} is in oarbank-probe.1", missing, said)
    for program in ("oarbank-probe", "oarbank-probe audit", "oarbank-probe diff", "oarbank-sandbox", "oarbank-plan", "oarbank-run",
                    "oarbank-egress"):
        name, *verb = program.split()
        out = subprocess.run([os.path.join(BUILD, name), *verb, "--help"], capture_output=True, check=True).stdout.decode()
        wide = [line for line in out.expandtabs().splitlines() if len(line) > 80]
        say(out and not wide, f"the help of {program} fits a terminal", *wide)
    for program, manual in (("oarbank-run", "oarbank-run.1"), ("oarbank-egress", "oarbank-egress.1"),
                            ("oarbank-plan", "oarbank-sandbox.1"), ("oarbank-sandbox", "oarbank-sandbox.1")):
        out = subprocess.run([os.path.join(BUILD, program), "--help"], capture_output=True, check=True).stdout.decode()
        text = plain(rendered(manual))
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", out)) | {"--help", "--version"}
        missing = [o for o in options if o not in text]
        say(len(options) > 3 and not missing, f"every option of {program} is in {manual}", missing)
    written = set(re.findall(r'\badd_(?:text|number|known|bool)\(&?t, "(\w+)"', open(os.path.join(TOP, "launch", "run", "result.c")).read()))
    result = re.search(r"^\.Sh THE RESULT\n(.*?)^\.Sh", open(page("oarbank-run.1")).read(), re.S | re.M).group(1)
    told = set(re.findall(r"\w+", " ".join(re.findall(r"^\.It Cm (.*)$", result, re.M))))
    say(len(written) > 20 and written == told, "every member of a result is in oarbank-run.1, and no other", written ^ told)
    date = {re.search(r"^\.Dd (.*)$", open(p).read(), re.M).group(1) for p in glob.glob(page("*.[1-9]"))}
    say(len(date) == 1, "the manuals have one date", date)


FACT = {"answer", "basis", "call", "got"}
# What is in these has the names of something else: rights, actions, types of programs, capabilities.
BY_NAME = ("kernel.landlock.rights", "kernel.seccomp.actions", "kernel.seccomp.flags", "kernel.bpf.programs",
           "kernel.bpf.attaches", "sandbox.enforcement")


def in_schema(node, path, schema, found):
    """The path of every member that the schema knows; a list's own path is that of what is in it."""
    if "$ref" in node:
        node = schema["definitions"][node["$ref"].split("/")[-1]]
    members = node.get("properties", {})
    if path not in BY_NAME and set(members) != FACT:
        for key, value in members.items():
            below = f"{path}.{key}" if path else key
            found.add(below)
            in_schema(value, below, schema, found)
    for other in [node["items"]] if "items" in node else node.get("oneOf", []) + node.get("anyOf", []):
        in_schema(other, path, schema, found)


def in_document(value, path, found):
    if isinstance(value, list):
        for one in value:
            in_document(one, path, found)
    elif isinstance(value, dict) and path not in BY_NAME and set(value) != FACT:
        for key, one in value.items():
            below = f"{path}.{key}" if path else key
            found.add(below)
            in_document(one, below, found)


def the_report():
    schema = json.load(open(os.path.join(TOP, "docs", "report.schema.json")))
    found = set()
    in_schema(schema, "", schema, found)
    goldens = glob.glob(os.path.join(TOP, "tests", "golden", "expected", "*.json"))
    for golden in goldens:
        in_document(json.load(open(golden)), "", found)
    # The members that the text of each item names, by what the item is about.
    named = {}
    for line in open(page("oarbank-report.5")):
        words = [w.strip(",;:.") for w in line.split()]
        if line.startswith(".It Li "):
            item = named.setdefault(words[2], set())
        elif line.startswith(".Li ") and named:
            item.update(words[1:])
    missing = []
    for path in sorted(found):
        about = path
        while about and about not in named:
            about = about.rpartition(".")[0]
        if not about or set(path[len(about) + 1:].split(".")) - named[about] - {""}:
            missing.append(path)
    say(goldens and len(found) > 250 and not missing, f"each of {len(found)} members of a report is in oarbank-report.5", missing)


def main():
    if not shutil.which("mandoc"):
        print("ok - the manuals # SKIP no mandoc here")
        return 0
    dir = tempfile.mkdtemp()
    try:
        lint()
        stage(dir)
        run_examples(dir)
        the_policy(dir)
        the_module(dir)
        names()
        the_report()
    finally:
        shutil.rmtree(dir)
    return 1 if bad else 0


sys.exit(main())
