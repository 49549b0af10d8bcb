#!/usr/bin/env python3
"""Write the reports of a made-up fleet as JSON Lines: make_fleet.py COUNT PROGRAM [DAMAGED [recorded]].

Each is a report that PROGRAM makes of a recorded machine, with a name of its own, so that kinds of
node, their reasons and the length of a report are real. Of COUNT, DAMAGED are cut off. A quarter
is of this machine, unless only recorded ones are asked for.
"""
import glob
import json
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def reports(program, live):
    env = dict(os.environ, SOURCE_DATE_EPOCH="1767225600")
    trees = sorted(os.path.dirname(p) for p in glob.glob(TOP + "/tests/fake/trees/*/kernel.calls"))
    made = [subprocess.run([program, "--json", "--root", tree], capture_output=True, env=env, check=True).stdout
            for tree in trees]
    if live:
        made += [subprocess.run([program, "--json"], capture_output=True, env=env, check=True).stdout] * 4
    return [re.split(r'(?<="hostname":")[^"]*', r.decode(), 1) for r in made]


def main():
    count, program = int(sys.argv[1]), sys.argv[2]
    damaged = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    kinds = reports(program, len(sys.argv) < 5)
    for i in range(count):
        line = f"node-{i:06}".join(kinds[i * 7 % len(kinds)])
        if i < damaged:
            line = line[: len(line) * (i + 1) // (damaged + 1)] + "\n"
        sys.stdout.write(line)


main()
