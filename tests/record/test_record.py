#!/usr/bin/env python3
"""This machine, recorded: oarbank-probe reports of the recording what it reports of the machine, and no
variable of ours is in it."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
# What changes by itself, and what the two runs differ in by design.
OF_THE_MOMENT = (".disk_free_gb", ".facts.disk_free_gb", ".report.duration_ms", ".report.recorded", ".report.time",
                 ".kernel.host.disk", ".kernel.host.disk_path")  # fmt: skip


def flat(value, path=""):
    if isinstance(value, dict):
        for key in value:
            if path + "." + key not in OF_THE_MOMENT and key != "micros":
                yield from flat(value[key], path + "." + key)
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from flat(item, f"{path}.{i}")
    else:
        yield path, value


def report(*arguments):
    done = subprocess.run([f"{BUILD}/oarbank-probe", "--json", *arguments], capture_output=True, text=True, timeout=60)
    return dict(flat(json.loads(done.stdout)))


def say(ok, name, *lines):
    print(("ok - " if ok else "not ok - ") + name)
    for line in lines if not ok else ():
        print("# " + line)
    return not ok


def differences(tree):
    """Record this machine, and compare. Returns (what differs, how much was compared)."""
    subprocess.run([f"{BUILD}/record", tree], check=True, timeout=60)
    here, there = report("--no-trials"), report("--root", tree)
    return [f"{p}: {here.get(p)!r}, recorded {there.get(p)!r}" for p in here | there if here.get(p) != there.get(p)], len(here)


def main():
    os.environ.update(OARBANK_NODE_NAME="recorded", TEST_SECRET="x-secret-x")
    directory = tempfile.mkdtemp()
    try:
        # Other tests make control groups and remove them meanwhile: what holds still is compared.
        for attempt in range(20):
            tree = os.path.join(directory, str(attempt))
            differ, count = differences(tree)
            if not differ:
                break
        bad = say(count > 200 and not differ, "the recording answers as the machine", *differ[:10])
        with open(os.path.join(tree, "proc", "self", "environ"), "rb") as f:
            kept = f.read()
        asked = subprocess.run([os.path.abspath(f"{BUILD}/record"), "--help"], cwd=directory, capture_output=True, timeout=60)
        bad += say(asked.returncode == 64 and b"usage" in asked.stderr and "--help" not in os.listdir(directory),
                   "an option is no directory", repr(asked))
        return bad + say(b"recorded" in kept and b"secret" not in kept, "a secret in the environment is left out", repr(kept))
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    sys.exit(main())
