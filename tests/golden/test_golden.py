#!/usr/bin/env python3
"""Reports of recorded machines, compared with what is checked in, and checked against the schema.

tests/golden/test_golden.py --update writes the expected files anew.
"""
import copy
import glob
import json
import os
import re
import subprocess
import sys

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
PROBE = os.path.join(BUILD, "dev", "oarbank-probe")
TREES = os.path.join(TOP, "tests", "fake", "trees")
MODULES = os.path.join(HERE, "modules")


def strict(schema):
    """The published schema lets readers meet unknown keys; our own output may have none."""
    if isinstance(schema, dict):
        if "properties" in schema:
            schema["additionalProperties"] = False
        for value in schema.values():
            strict(value)
    elif isinstance(schema, list):
        for value in schema:
            strict(value)
    return schema


def run(*args):
    env = {k: v for k, v in os.environ.items() if not k.startswith("OARBANK_")}
    env.update(SOURCE_DATE_EPOCH="1767225600", LC_ALL="C.UTF-8")
    return subprocess.run([PROBE, *args], capture_output=True, env=env, timeout=60, cwd=TOP)


def module_arguments():
    """Every good manifest; the release with its refused entries is another test's."""
    out = []
    for path in sorted(glob.glob(os.path.join(MODULES, "*.*"))):
        if os.path.basename(path) != "modules.json":
            out += ["--module", os.path.relpath(path, TOP)]
    return out


def pretty(line):
    return (json.dumps(json.loads(line), indent=1, ensure_ascii=False) + "\n").encode()


def outputs(tree):
    root = os.path.join("tests", "fake", "trees", tree)
    return {
        tree + ".json": run("--root", root, "--json", *module_arguments()),
        tree + ".txt": run("--root", root, *module_arguments()),
        tree + ".sandbox": run("--root", root, "--sandbox"),
    }


def main():
    update = "--update" in sys.argv
    schema = json.load(open(os.path.join(TOP, "docs", "report.schema.json")))
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(strict(copy.deepcopy(schema)))
    bad = 0

    def say(ok, name, *lines):
        nonlocal bad
        bad += not ok
        print(("ok - " if ok else "not ok - ") + name)
        for line in lines:
            print("# " + line)

    trees = sorted(os.path.basename(os.path.dirname(p)) for p in glob.glob(TREES + "/*/kernel.calls"))
    say(len(trees) >= 8, f"there are {len(trees)} recorded machines")
    with open(os.path.join(TREES, "..", "README.md"), encoding="utf-8") as f:
        listed = re.findall(r"^\| `(\S+)` \|", f.read(), re.M)
    say(listed == trees, "tests/fake/README.md lists each of them", *sorted(set(listed) ^ set(trees)))
    for tree in trees:
        for name, result in outputs(tree).items():
            path = os.path.join(HERE, "expected", name)
            text = result.stdout
            if result.returncode != 0:
                say(False, f"{name}: exit {result.returncode}", *result.stderr.decode().splitlines()[:20])
                continue
            if name.endswith(".json"):
                errors = [e.message[:200] for e in validator.iter_errors(json.loads(text))]
                say(not errors, f"{name} fits the schema", *errors[:5])
                one_line = text.endswith(b"\n") and text.count(b"\n") == 1
                say(one_line, f"{name} is one line with one newline at its end")
                text = pretty(text)
            else:
                wide = [l for l in text.decode().splitlines()
                        if len(l) > 80 and max(map(len, l.split())) < 50]
                if name.endswith(".txt"):
                    say(not wide, f"{name} fits 80 columns", *wide[:3])
                    say(b"\033" not in text, f"{name} has no colour in a pipe")
            if update:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                open(path, "wb").write(text)
                continue
            expected = open(path, "rb").read() if os.path.exists(path) else b""
            differ = [f"expected {a!r}, got {b!r}" for a, b in
                      zip(expected.decode().splitlines() + [""], text.decode().splitlines() + [""]) if a != b]
            say(expected == text, f"{name} is as expected", *differ[:5])
    live = run("--json")
    errors = [e.message[:200] for e in validator.iter_errors(json.loads(live.stdout))] if live.stdout else ["nothing"]
    say(not errors and live.returncode == 0, "this machine's report fits the schema", *errors[:5])
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
